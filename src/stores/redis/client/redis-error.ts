import { HeadgateError, storeError } from '../../../common/index.ts'

/**
 * Finds the codes READONLY and MASTERDOWN in the text of an error. The code is at the start of the text, or, in Redis before 7, after a `-`
 * that follows the line number of the script.
 */
const readOnly = /(^|-)(READONLY|MASTERDOWN)/

/** The error of Redis Cluster if a slot is being moved, and only some keys of a script call have reached the new node. */
const tryAgain = /^TRYAGAIN/

/**
 * The errors with which a server refuses a script call, or ends the script before its first write, and the error with which ioredis refuses
 * to send a pipeline to several nodes. Such a call counts nothing. With `enableAutoPipelining`, ioredis passes MOVED and ASK on.
 */
const refused =
  /^All keys in the pipeline should|(^|-)(MOVED|ASK|TRYAGAIN|OOM|READONLY|MASTERDOWN|LOADING|MISCONF|NOREPLICAS|CLUSTERDOWN|NOAUTH|WRONGPASS|NOPERM|NOSCRIPT|BUSY)\b/

/** Fixes for errors of the server: a pattern for the text of an error, and the fix to add to the message. */
const fixes: readonly (readonly [text: RegExp, fix: string])[] = [
  [
    /unknown (redis )?command|non deterministic|wrong number of args calling redis command/i,
    'The store needs Redis 5 or later, or Valkey, with EVALSHA, EVAL, MGET, SET (PX), SETRANGE, DEL and TIME.',
  ],
  [
    /NOPERM|no permissions|can't (run|access)/i,
    'Grant the user the commands and keys that docs/redis.md lists under ACL.',
  ],
  [/^(NOAUTH|WRONGPASS)/, 'Give the client the password of the server.'],
  [/^OOM/, 'Give Redis more memory, or fewer keys.'],
  [readOnly, 'Connect to the master.'],
  [tryAgain, 'The slot is being moved, and only one of its nodes has each key. The call did not count: try it again.'],
]

/** True if a replica refused the call, because the connected server is no longer the master. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && readOnly.test(error.message)
}

/** True if ioredis gave a command up after its option `commandTimeout`, so that the server has not answered. */
export function isGivenUp(error: unknown): boolean {
  return error instanceof Error && error.message === 'Command timed out'
}

/**
 * True if a node of Redis Cluster refused the script call because the slot of its keys is being moved to another node. The
 * call did not run, and the node works.
 */
export function isTryAgain(error: unknown): boolean {
  return error instanceof Error && tryAgain.test(error.message)
}

/** The Redis command that the script called and Redis refused. The line number in the error leads to this command. */
function refusedCommand(text: string, script: string): string {
  const line = /user_script:\s*(\d+)/.exec(text)?.[1]
  const command = /\bcall\('([A-Z]+)'/.exec(script.split('\n')[Number(line) - 1] ?? '')?.[1]
  return command === undefined ? '' : `The command is ${command}. `
}

/**
 * The HeadgateError for a script call that failed, with a fix if a fix is known.
 * @param cause the error of the client
 * @param script the text of the script that was called
 * @param shards the nodes of Redis Cluster that failed
 */
export function redisError(cause: unknown, script: string, shards?: readonly string[]): HeadgateError {
  if (cause instanceof HeadgateError) return cause
  const { code, message } = storeError('Redis', cause)
  const text = cause instanceof Error ? cause.message : String(cause)
  const fix = fixes.find(([pattern]) => pattern.test(text))?.[1]
  return new HeadgateError(
    code,
    fix === undefined ? message : `${message.replace(/\.$/, '')}. ${refusedCommand(text, script)}${fix}`,
    { cause, uncounted: refused.test(text), shards },
  )
}

/**
 * The error to report in place of the error of a client. If the client's error only says that the connection of ioredis is closed,
 * the result is the error that closed the connection; otherwise the client's error.
 */
export function causeOf(error: unknown, connection: { problem(): unknown }): unknown {
  if (!(error instanceof Error && error.message.startsWith('Connection is closed'))) return error
  return connection.problem() ?? error
}
