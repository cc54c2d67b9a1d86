import type { Clock } from '../../clock.ts'
import type { PendingCalls } from '../pending-call.ts'
import type { Ledger, LedgerTerms, Store } from '../store.ts'
import type { KeyQueue } from './key-queue.ts'
import { RecordLedger } from './record-ledger.ts'
import { checkPolicySizes, type SizeLimit } from './size-limit.ts'

/** What the ledgers of one record store share. */
export interface RecordContext {
  readonly prefix: string
  /** In milliseconds. */
  readonly timeout: number
  /** The time of this process. */
  readonly clock: Clock
  readonly pendingCalls: PendingCalls
  readonly queue: KeyQueue
  /** The most that the store holds for a key, if it has a bound. */
  readonly size?: SizeLimit | undefined
}

/** A store that keeps the states of each key as a text, the record. */
export class RecordStore implements Store {
  readonly synchronous = false
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  readonly #context: RecordContext

  constructor(context: RecordContext) {
    this.timeout = context.timeout
    this.#context = context
  }

  /** @throws HeadgateError `HEADGATE_STATE_SIZE` for policies whose record may not fit */
  open(terms: LedgerTerms): Ledger {
    if (this.#context.size !== undefined) checkPolicySizes(this.#context.size, terms)
    return new RecordLedger(terms, this.#context)
  }
}
