import { HeadgateError, storeError } from '../../../common/index.ts'

/** Matches at the start, or after a `-`: Redis before 7 puts the place in the script before the code. */
const readOnly = /(^|-)(READONLY|MASTERDOWN)/

/** A node of Redis Cluster has some keys of a script call, and another node has the others: their slot is being moved. */
const tryAgain = /^TRYAGAIN/

/** Fixes for errors of the server, by the start or a part of the error's text. */
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

/** True if a replica has refused the call: the connection is still to a server that is no longer the master. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && readOnly.test(error.message)
}

/** True if a node refused the call because its slot is being moved. The call did not run, and the node works. */
export function isTryAgain(error: unknown): boolean {
  return error instanceof Error && tryAgain.test(error.message)
}

/** The command that Redis refused. The error only says at which line of the script it was. */
function refusedCommand(text: string, script: string): string {
  const line = /user_script:\s*(\d+)/.exec(text)?.[1]
  const command = /\bcall\('([A-Z]+)'/.exec(script.split('\n')[Number(line) - 1] ?? '')?.[1]
  return command === undefined ? '' : `The command is ${command}. `
}

/**
 * The error of a call that failed, with the fix if it is known.
 * @param cause what the client rejected with
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
    { cause, uncounted: isTryAgain(cause), shards },
  )
}

/** The error of a client. If ioredis only says that its connection is closed, the cause of that. */
export function causeOf(error: unknown, connection: { problem(): unknown }): unknown {
  if (!(error instanceof Error && error.message.startsWith('Connection is closed'))) return error
  return connection.problem() ?? error
}
