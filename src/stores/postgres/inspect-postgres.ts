import { readOptions, text } from '../../common/index.ts'
import { Deadlines, ScopedEvaluation, sharedOptions } from '../contract/index.ts'
import { KeyQueue, keptRecord, partsOfRecordKey, type StateOutcome } from '../records/index.ts'
import { type InspectedStore, inspectStore, type StoredRecord, type StoreInspector } from '../store-inspector.ts'
import { checkPool, type PostgresClient, type PostgresPool, withClient } from './postgres-client.ts'
import { type RowReader, rowReader } from './row-reader.ts'
import { Sql } from './sql.ts'
import { TransactionRunner } from './transaction-runner.ts'

/** The options of `inspectPostgres`. */
export interface InspectPostgresOptions {
  /** The prefix of the store's keys. Default `'headgate'`. */
  prefix?: string | undefined
  /** The name of the store's table, with its schema if necessary, such as `'limits.headgate'`. Default `'headgate'`. */
  table?: string | undefined
}

/** How long one statement may take, in milliseconds. */
const timeout = 10_000

/** For how many milliseconds a row stays in the table after its states are no longer needed. */
const ttlMargin = 1000

/** The terms of a ledger without policies. A call to such a ledger writes all states of a row again unchanged. */
const noPolicies = { name: '', policies: [], scopes: [''] }

/**
 * Shows what limiters have stored in Postgres. The policies of these limiters need not be known. The method `reset` deletes the
 * row of a key.
 * @throws HeadgateError `HEADGATE_OPTION` if the pool or an option is invalid
 */
export function inspectPostgres(pool: PostgresPool, options: InspectPostgresOptions = {}): StoreInspector {
  const readers = { prefix: sharedOptions.prefix, table: text('headgate') }
  const { prefix, table } = readOptions('inspectPostgres', options, readers)
  const given = checkPool(pool, 'inspectPostgres: pool')
  return inspectStore(inspectedTable(given, new Sql(table, timeout)), prefix)
}

/** Gives an inspector access to the table. */
function inspectedTable(pool: PostgresPool, sql: Sql): InspectedStore {
  const reader = rowReader(pool, sql, timeout, undefined)
  return {
    records: (start, id) => recordsOf(reader, start, id === undefined ? '' : `:${id}`),
    async record(storeKey) {
      const { texts, now } = await reader.read([storeKey])
      return texts[0] === undefined ? undefined : recordOf(storeKey, now, texts[0])
    },
    partsOf: partsOfRecordKey,
    async remove(storeKey) {
      const statement = (client: PostgresClient) =>
        client.query(sql.remove(storeKey, (each) => client.escapeLiteral(each)))
      await withClient(pool, timeout, statement)
    },
    /** Ends the ban in a transaction that locks the key's row, as `limiter.unban` does. */
    async unban(storeKey) {
      const terms = { pool, sql, timeout, ttlMargin, transactions: 1, prepare: false, usesStoreTime: true }
      const runner = new TransactionRunner(terms)
      const queue = new KeyQueue((jobs) => runner.run(jobs), timeout)
      await new Deadlines('Postgres', timeout).promise<StateOutcome>((pending) => {
        const call = { command: { verb: 'unban', keys: [] }, now: 0, pending, late: () => {} } as const
        queue.add(new ScopedEvaluation(noPolicies), [storeKey], call)
      })
    },
  }
}

async function* recordsOf(
  reader: RowReader,
  start: string,
  ending: string,
): AsyncGenerator<StoredRecord, void, undefined> {
  let after: string | undefined = start
  while (after !== undefined) {
    const page = await reader.page(start, after, ending)
    for (const [n, storeKey] of page.keys.entries()) {
      yield recordOf(storeKey, page.now, page.texts[n] as string)
    }
    after = page.more ? page.keys.at(-1) : undefined
  }
}

function recordOf(storeKey: string, now: number, text: string): StoredRecord {
  return { storeKey, now, bytes: text.length, read: () => keptRecord(text) }
}
