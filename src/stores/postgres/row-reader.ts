import type { Clock } from '../../common/index.ts'
import type { ReadTexts, TextPage } from '../records/index.ts'
import { type PostgresPool, type Rows, withClient } from './postgres-client.ts'
import { pageSize, type Sql } from './sql.ts'

/** Reads rows for an inspection, without locks and in read-only transactions. */
export interface RowReader {
  read(keys: readonly string[]): Promise<ReadTexts>
  /**
   * Reads a page of rows.
   * @param start the text that the keys begin with; its last character is a colon
   * @param after the page begins with the first key after this text
   * @param ending the text that the keys end with
   */
  page(start: string, after: string, ending?: string): Promise<TextPage>
}

/** @param timeout the store's timeout, in milliseconds @param clock the clock of this process; undefined if Postgres gives the time */
export function rowReader(pool: PostgresPool, sql: Sql, timeout: number, clock: Clock | undefined): RowReader {
  const query = (textOf: (quote: (text: string) => string) => string) => {
    return withClient(pool, 2 * timeout, async (client) => {
      const text = textOf((each) => client.escapeLiteral(each))
      const [found, time] = ((await client.query(text)) as Rows[]).slice(-3) as [Rows, Rows]
      return { rows: found.rows, now: clock?.() ?? Number(time.rows[0]?.now) }
    })
  }
  return {
    async read(keys) {
      const { rows, now } = await query((quote) => sql.read(keys, quote))
      const texts = new Map(rows.map(({ key, record }) => [key, record ?? undefined] as [string, string | undefined]))
      return { texts: keys.map((key) => texts.get(key)), now }
    },
    async page(start, after, ending = '') {
      const end = `${start.slice(0, -1)};` // `;` is the character after the colon
      const { rows, now } = await query((quote) => sql.page(after, end, ending, quote))
      const keys = rows.map(({ key }) => key as string)
      return { keys, texts: rows.map(({ record }) => record as string), now, more: rows.length === pageSize }
    },
  }
}
