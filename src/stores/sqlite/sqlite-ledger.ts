import type { Clock } from '../../common/index.ts'
import {
  type Command,
  exchanged,
  exchangeStart,
  type LedgerTerms,
  type OutcomeOf,
  runOnStates,
  type StateVerb,
  type Verb,
} from '../contract/index.ts'
import { KeyRecord, type RecordContext, RecordLedger } from '../records/index.ts'
import type { SqliteFile } from './sqlite-file.ts'

/**
 * Decides each call before `run` returns. A call with several keys is decided in one transaction. The verbs `inspect`, `scan` and `clear`
 * run as in the other stores with one text for each key.
 */
export class SqliteLedger extends RecordLedger {
  readonly #file: SqliteFile
  readonly #clock: Clock

  constructor(terms: LedgerTerms, context: RecordContext, file: SqliteFile) {
    super(terms, context)
    this.#file = file
    this.#clock = context.clock
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
    const [key] = keys
    if (keys.length === 1 && key !== undefined) return this.#decideOne(command, key)
    return this.#file.transact(() => this.#evaluate(command, keys))
  }

  /**
   * Decides a call with one key. First decides with the text that this process saved last, and saves the result if the file still has this
   * text. This way takes one statement instead of four. If this process has saved no text, or if the decision would change nothing, decides
   * with the text in the file, without a lock. If the file had another text at the save, a transaction decides the call again.
   */
  #decideOne(command: Command<StateVerb>, key: string): OutcomeOf<StateVerb> {
    const file = this.#file
    for (let text = file.known(key), known = text !== undefined; ; known = false) {
      if (!known) text = file.read(key)
      const record = new KeyRecord(text, command.verb === 'reset')
      const now = this.#clock()
      const outcome = runOnStates([record], this.whole, command, now)
      if (record.changed) {
        if (file.swap(key, text, record.save(now), now)) return outcome
        return file.transact(() => this.#evaluate(command, [key]))
      }
      if (!known) return outcome
    }
  }

  /**
   * Decides a call within a transaction. The time is read while the file is locked, so that no call of another process with a
   * later time was decided before.
   */
  #evaluate(command: Command<StateVerb>, keys: readonly (string | undefined)[]): OutcomeOf<StateVerb> {
    const file = this.#file
    const replaced = command.verb === 'reset'
    const records = keys.map((key) => (key === undefined ? undefined : new KeyRecord(file.readLocked(key), replaced)))
    const now = this.#clock()
    const outcome = runOnStates(records, this.whole, command, now)
    for (const [n, record] of records.entries()) {
      if (record?.changed) file.save(keys[n] as string, record.save(now), now)
    }
    return outcome
  }
}
