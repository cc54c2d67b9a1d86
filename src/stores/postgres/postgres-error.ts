import { HeadgateError, shown } from '../../common/index.ts'

/** The code of `undefined_table` (PostgreSQL, appendix A). */
const noTable = '42P01'

/** Makes the error for a call that failed. */
export function errorOf(cause: unknown): HeadgateError {
  if (cause instanceof HeadgateError) return cause
  const fix =
    postgresCode(cause) === noTable ? '. Run: await store.migrate(), or what npx headgate-postgres prints' : ''
  return new HeadgateError('HEADGATE_STORE', `Postgres failed: ${reasonOf(cause)}${fix}`, {
    cause,
    uncounted: isRefusal(cause),
  })
}

/**
 * True if Postgres answered with an error, and so has changed nothing. False for errors of the connection (class 08) and of a server that
 * ends the connection (57P01 and others), because the transaction may be complete at that time.
 */
function isRefusal(cause: unknown): boolean {
  return cause instanceof Error && 'severity' in cause && !/^(08|57P)/.test(String(postgresCode(cause)))
}

/**
 * The error for a text that Postgres computed for a key, if the algorithm in this process computes another text.
 * @param written true if Postgres has written its text, false if Postgres has written nothing
 */
export function differentRecord(key: string, written: boolean): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `Postgres ${written ? 'wrote another record' : 'wrote no record'} under ${shown(key)} than the decision that headgate makes of that row. ` +
      'Remove triggers and rules from the table, and delete a row that was changed by hand with reset(key).',
    { uncounted: !written },
  )
}

/** Makes the error for a migration that failed. */
export function migrationError(table: string, cause: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE',
    `Postgres did not create the table ${table}: ${reasonOf(cause)}. ` +
      `Grant the user the right to create it, or have another user run what npx headgate-postgres ${table} prints.`,
    { cause },
  )
}

/** The message of an error. If a connection failed at several addresses, its error has no message, and the code is returned. */
function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message || String(postgresCode(cause) ?? cause.name) : String(cause)
}

/** The code of an error that comes from Postgres or from the connection. */
export function postgresCode(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
