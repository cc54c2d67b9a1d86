import { HeadgateError } from '../../errors.ts'

/** `undefined_table` (PostgreSQL, appendix A) */
const noTable = '42P01'

/** What a call is told that failed. */
export function errorOf(cause: unknown): HeadgateError {
  if (cause instanceof HeadgateError) return cause
  const fix = codeOf(cause) === noTable ? '. Run: await store.migrate(), or what npx headgate-postgres prints' : ''
  return new HeadgateError('HEADGATE_STORE', `Postgres failed: ${reasonOf(cause)}${fix}`, { cause })
}

/** What `migrate` is told. */
export function migrationError(table: string, cause: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE',
    `Postgres did not make the table ${table}: ${reasonOf(cause)}. ` +
      `Let its user create it, or have another run what npx headgate-postgres ${table} prints.`,
    { cause },
  )
}

/** An error of several addresses that were tried has a code alone. */
function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message || String(codeOf(cause) ?? cause.name) : String(cause)
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
