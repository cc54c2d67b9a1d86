import type { ReadTexts, TextPage } from '../records/index.ts'
import { type PostgresPool, type Rows, withClient } from './postgres-client.ts'
import { pageSize, type Sql } from './sql.ts'

/** Reads rows to inspect them: without locks, in read-only transactions. */
export class RowReader {
  readonly #pool: PostgresPool
  readonly #sql: Sql
  readonly #timeout: number
  /** The clock of this process; undefined if Postgres gives the time. */
  readonly #clock: (() => number) | undefined

  /** @param timeout in milliseconds */
  constructor(pool: PostgresPool, sql: Sql, timeout: number, clock: (() => number) | undefined) {
    this.#pool = pool
    this.#sql = sql
    this.#timeout = timeout
    this.#clock = clock
  }

  async read(keys: readonly string[]): Promise<ReadTexts> {
    const { rows, now } = await this.#query((quote) => this.#sql.read(keys, quote))
    const texts = new Map(rows.map(({ key, record }) => [key, record ?? undefined] as [string, string | undefined]))
    return { texts: keys.map((key) => texts.get(key)), now }
  }

  /** @param start the prefix of the keys, which ends with a colon @param ending the end of the keys */
  async page(start: string, after: string, ending = ''): Promise<TextPage> {
    const end = `${start.slice(0, -1)};` // the character after the colon
    const { rows, now } = await this.#query((quote) => this.#sql.page(after, end, ending, quote))
    const keys = rows.map(({ key }) => key as string)
    return { keys, texts: rows.map(({ record }) => record as string), now, more: rows.length === pageSize }
  }

  #query(textOf: (quote: (text: string) => string) => string): Promise<{ rows: Rows['rows']; now: number }> {
    return withClient(this.#pool, 2 * this.#timeout, async (client) => {
      const text = textOf((each) => client.escapeLiteral(each))
      const [found, time] = ((await client.query(text)) as Rows[]).slice(-3) as [Rows, Rows]
      return { rows: found.rows, now: this.#clock?.() ?? Number(time.rows[0]?.now) }
    })
  }
}
