import type { BreakerTerms, Ledger, LedgerTerms, Store } from '../store.ts'
import type { RecordContext } from './record-context.ts'
import { RecordLedger } from './record-ledger.ts'
import { checkPolicySizes } from './size-limit.ts'

/** A store that keeps the states of each key as a text, the record. */
export class RecordStore implements Store {
  readonly kind: string
  readonly synchronous = false
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  readonly prefix: string
  readonly breaker: Partial<BreakerTerms>
  readonly #context: RecordContext

  constructor(context: RecordContext) {
    this.kind = context.kind
    this.timeout = context.timeout
    this.prefix = context.prefix
    this.breaker = context.breaker
    this.#context = context
  }

  /** @throws HeadgateError `HEADGATE_STATE_SIZE` for policies whose record may not fit */
  open(terms: LedgerTerms): Ledger {
    if (this.#context.size !== undefined) checkPolicySizes(this.#context.size, terms)
    return new RecordLedger(terms, this.#context)
  }
}
