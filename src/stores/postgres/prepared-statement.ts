import { getOrInsert } from '../../common/index.ts'
import { digest } from '../contract/index.ts'
import type { PlainStatement } from './plain-statement.ts'
import type { PostgresClient, Rows } from './postgres-client.ts'
import { postgresCode } from './postgres-error.ts'

/** The code of `duplicate_prepared_statement` (PostgreSQL, appendix A). */
const duplicate = '42P05'

/**
 * The codes of errors after which a statement cannot be used: `duplicate_prepared_statement`, `invalid_sql_statement_name`,
 * and the codes for SQL that the server does not support: `syntax_error`, `undefined_object`, `undefined_function`,
 * `feature_not_supported`.
 */
const unusable: readonly unknown[] = [duplicate, '26000', '42601', '42704', '42883', '0A000']

/** The names of the statements that each connection has prepared, for all stores of this process. */
const preparedBy = new WeakMap<PostgresClient, Set<string>>()

/**
 * A statement that each connection prepares at its first use. The name of the statement is a digest of its text. So
 * different statements have different names, even if a pooler lends one connection of the server to several processes.
 */
export class PreparedStatement {
  readonly #name: string
  readonly #text: string
  readonly #types: string

  constructor({ text, types }: PlainStatement) {
    this.#name = `headgate_${digest(new TextEncoder().encode(text)).slice(1)}`
    this.#text = text
    this.#types = types
  }

  /**
   * Executes the statement in a transaction, in one round trip.
   * @param begin the SQL that begins the transaction
   * @param values the arguments as SQL literals
   */
  async execute(client: PostgresClient, begin: string, values: readonly string[]): Promise<Rows> {
    const prepared = getOrInsert(preparedBy, client, () => new Set<string>())
    const prepare = prepared.has(this.#name) ? '' : `prepare "${this.#name}" (${this.#types}) as ${this.#text}; `
    const text = `${begin}; ${prepare}execute "${this.#name}" (${values.join(', ')}); commit`
    try {
      const [rows] = ((await client.query(text)) as Rows[]).slice(-2) as [Rows, Rows]
      prepared.add(this.#name)
      return rows
    } catch (error) {
      if (postgresCode(error) === duplicate) prepared.add(this.#name)
      else prepared.delete(this.#name)
      throw error
    }
  }
}

/**
 * True if the error says that the statement cannot be used. Either the connection does not have it, or the server does not support its SQL,
 * or the name is taken. The name is taken if a pooler lends the connection to several processes, and another process has prepared the
 * statement.
 */
export function isUnusable(error: unknown): boolean {
  return unusable.includes(postgresCode(error))
}

/** True if the error says that a value in the table is not a number, or is a number that is too large. */
export function isDataError(error: unknown): boolean {
  return /^22/.test(String(postgresCode(error)))
}
