import { HeadgateError, storeError } from '../../../common/index.ts'
import type { Connection } from './redis-client.ts'

/** Matches at the start, or after a `-`: Redis before 7 puts the place in the script before the code. */
const readOnly = /(^|-)(READONLY|MASTERDOWN)/

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
]

/** True if a replica has refused the call: the connection is still to a server that is no longer the master. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && readOnly.test(error.message)
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
 */
export function redisError(cause: unknown, script: string): HeadgateError {
  const error = storeError('Redis', cause)
  const text = cause instanceof Error ? cause.message : String(cause)
  const fix = cause instanceof HeadgateError ? undefined : fixes.find(([pattern]) => pattern.test(text))?.[1]
  return fix === undefined
    ? error
    : new HeadgateError(error.code, `${error.message.replace(/\.$/, '')}. ${refusedCommand(text, script)}${fix}`, {
        cause,
      })
}

/** The error of a client. If ioredis only says that its connection is closed, the cause of that. */
export function causeOf(error: unknown, connection: Connection): unknown {
  if (!(error instanceof Error && error.message.startsWith('Connection is closed'))) return error
  return connection.problem() ?? error
}
