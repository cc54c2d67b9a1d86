import type { Clock } from '../../common/index.ts'
import {
  type Command,
  exchanged,
  exchangeStart,
  type LedgerTerms,
  type OutcomeOf,
  runOn,
  type StateVerb,
  type Verb,
} from '../contract/index.ts'
import { KeyRecord, type RecordContext, RecordLedger } from '../records/index.ts'
import type { SqliteFile } from './sqlite-file.ts'

/** Decides at once, in one transaction over all keys of a call. Inspecting, listing and clearing are as in any store of records. */
export class SqliteLedger extends RecordLedger {
  readonly #file: SqliteFile
  readonly #clock: Clock
  readonly #ttlMargin: number

  constructor(terms: LedgerTerms, context: RecordContext, file: SqliteFile, ttlMargin: number) {
    super(terms, context)
    this.#file = file
    this.#clock = context.clock
    this.#ttlMargin = ttlMargin
  }

  override run<V extends Verb>(command: Command<V>): OutcomeOf<V> | Promise<OutcomeOf<V>> {
    const { verb } = command
    if (verb === 'inspect' || verb === 'scan' || verb === 'clear') return super.run(command)
    const startedAt = exchangeStart()
    let failure: unknown
    try {
      return this.#decide(command as unknown as Command<StateVerb>) as OutcomeOf<V>
    } catch (error) {
      failure = error
      throw error
    } finally {
      exchanged('sqlite', startedAt, 1, failure)
    }
  }

  #decide(command: Command<StateVerb>): OutcomeOf<StateVerb> {
    const keys = this.recordKeys(command.keys)
    // One key is one row, and a statement reads a row as one transaction wrote it.
    if (command.verb === 'peek' && keys.length === 1) return this.#file.reading(() => this.#evaluate(command, keys))
    return this.#file.transact(() => this.#evaluate(command, keys))
  }

  /** The time is read under the lock, so that calls of several processes are decided in the order of their times. */
  #evaluate(command: Command<StateVerb>, keys: readonly (string | undefined)[]): OutcomeOf<StateVerb> {
    const file = this.#file
    const replaced = command.verb === 'reset'
    const records = keys.map((key) => (key === undefined ? undefined : new KeyRecord(file.read(key), replaced)))
    const now = this.#clock()
    const outcome = runOn(records, this.whole, command, now)
    for (const [n, record] of records.entries()) {
      if (record?.changed) file.save(keys[n] as string, record, now, this.#ttlMargin)
    }
    return outcome
  }
}
