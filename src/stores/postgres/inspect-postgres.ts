import { HeadgateError, shown } from '../../errors.ts'
import {
  checkFilter,
  type KeyParts,
  matches,
  type StoredKey,
  type StoredKeyFilter,
  type StoreInspector,
  storedKey,
} from '../../inspection/store-inspector.ts'
import { knownOptions } from '../../options.ts'
import { Deadlines } from '../deadlines.ts'
import { decodeId, decodeName, soughtId } from '../encode.ts'
import type { StateOutcome } from '../records/job.ts'
import { KeyQueue } from '../records/key-queue.ts'
import { keptRecord } from '../records/key-record.ts'
import { ScopedEvaluation } from '../records/scoped-evaluation.ts'
import { prefixOf } from '../shared-options.ts'
import { checkPool, type PostgresPool, withClient } from './client.ts'
import { errorOf } from './error.ts'
import { RowReader } from './row-reader.ts'
import { Sql } from './sql.ts'
import { TransactionRunner } from './transaction-runner.ts'

export interface InspectPostgresOptions {
  /** The prefix of the store. Default `'headgate'`. */
  prefix?: string
  /** The table of the store. Default `'headgate'`. */
  table?: string
}

/** How long one statement may take, in milliseconds. */
const timeout = 10_000

/** How long a record is kept after it is needed, in milliseconds. */
const ttlMargin = 1000

/** The states of any policies are kept as they are. */
const noPolicies = { name: '', policies: [], scopes: [''] }

/**
 * Shows what limiters keep in Postgres, from the records alone. `reset` deletes a row.
 * @throws HeadgateError `HEADGATE_OPTION` if the pool or an option is invalid
 */
export function inspectPostgres(pool: PostgresPool, options: InspectPostgresOptions = {}): StoreInspector {
  knownOptions('inspectPostgres', options, ['prefix', 'table'])
  const sql = new Sql(options.table ?? 'headgate', timeout)
  return new Inspector(checkPool(pool), sql, prefixOf('inspectPostgres', options.prefix))
}

class Inspector implements StoreInspector {
  readonly #pool: PostgresPool
  readonly #sql: Sql
  readonly #prefix: string
  readonly #reader: RowReader

  constructor(pool: PostgresPool, sql: Sql, prefix: string) {
    this.#pool = pool
    this.#sql = sql
    this.#prefix = prefix
    this.#reader = new RowReader(pool, sql, timeout, undefined)
  }

  list(filter: StoredKeyFilter = {}): AsyncGenerator<StoredKey, void, undefined> {
    return this.#list(checkFilter(filter))
  }

  async *#list(filter: StoredKeyFilter): AsyncGenerator<StoredKey, void, undefined> {
    const start = `${this.#prefix}:`
    const sought = filter.key === undefined ? undefined : soughtId(filter.key)
    const wanted = { ...filter, key: sought?.shown }
    const ending = sought === undefined ? '' : `:${sought.encoded}`
    let after: string | undefined = start
    while (after !== undefined) {
      const page = await this.#reader.page(start, after, ending)
      for (const [n, storeKey] of page.keys.entries()) {
        const parts = partsOf(storeKey.slice(start.length))
        if (!matches(parts, wanted)) continue
        const text = page.texts[n] as string
        yield storedKey(storeKey, parts, text.length, page.now, () => keptRecord(text))
      }
      after = page.more ? page.keys.at(-1) : undefined
    }
  }

  async reset(storeKey: string): Promise<void> {
    this.#check(storeKey)
    try {
      await withClient(this.#pool, timeout, (client) =>
        client.query(this.#sql.remove(storeKey, (each) => client.escapeLiteral(each))),
      )
    } catch (cause) {
      throw errorOf(cause)
    }
  }

  /** In a transaction that locks the row, as `limiter.unblock` does. */
  async unblock(storeKey: string): Promise<void> {
    this.#check(storeKey)
    const runner = new TransactionRunner({
      pool: this.#pool,
      sql: this.#sql,
      timeout,
      ttlMargin,
      transactions: 1,
      prepare: false,
      usesStoreTime: true,
    })
    const queue = new KeyQueue((jobs) => runner.run(jobs), timeout)
    await new Deadlines('Postgres', timeout).promise<StateOutcome>((pending) => {
      const call = { command: { verb: 'unban', keys: [] }, now: 0, pending, late: () => {} } as const
      queue.add(new ScopedEvaluation(noPolicies), [storeKey], call)
    })
  }

  /** @throws HeadgateError `HEADGATE_KEY` for a key that is not under the prefix */
  #check(storeKey: string): void {
    if (storeKey.startsWith(`${this.#prefix}:`)) return
    throw new HeadgateError(
      'HEADGATE_KEY',
      `${shown(storeKey)} is no key of a limiter under ${shown(this.#prefix)}. Give the storeKey of a listed key.`,
    )
  }
}

/** A long key is a hash of all its parts. */
function partsOf(rest: string): KeyParts {
  const [, limiter, scope, id] = /^([^:]+):([^:]+):(.*)$/s.exec(rest) ?? []
  if (limiter === undefined || scope === undefined || id === undefined) {
    return { limiter: undefined, scope: undefined, key: undefined, hash: rest }
  }
  return { limiter: nameOf(limiter), scope: nameOf(scope), key: undefined, hash: undefined, ...decodeId(id) }
}

function nameOf(encoded: string): string | undefined {
  return encoded.startsWith('#') ? undefined : decodeName(encoded)
}
