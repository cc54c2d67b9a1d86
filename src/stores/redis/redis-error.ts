import { HeadgateError, storeError } from '../../errors.ts'

/** What the user can do about an error of the server, by the beginning or a part of its text. */
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
  [/^READONLY/, 'Connect to the master.'],
]

/** The error of a call that failed, with the fix if it is known. @param cause what the client rejected with */
export function redisError(cause: unknown): HeadgateError {
  const error = storeError('Redis', cause)
  const text = cause instanceof Error ? cause.message : String(cause)
  const fix = cause instanceof HeadgateError ? undefined : fixes.find(([pattern]) => pattern.test(text))?.[1]
  return fix === undefined
    ? error
    : new HeadgateError(error.code, `${error.message.replace(/\.$/, '')}. ${fix}`, { cause })
}
