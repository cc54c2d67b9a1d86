import { withFailover } from '../../failure/index.ts'
import type { Ledger, LedgerTerms, Store, StoreTraits } from '../contract/index.ts'
import type { RecordContext } from './record-context.ts'
import { RecordLedger } from './record-ledger.ts'
import { checkPolicySizes } from './size-limit.ts'

/** A store that has the states of each key as one text, which is called the record. */
export class RecordStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly #context: RecordContext

  constructor(context: RecordContext) {
    const { kind, timeout, prefix, breaker } = context
    this.traits = { kind, timeout, prefix, breaker }
    this.#context = context
  }

  /** @throws HeadgateError `HEADGATE_STATE_SIZE` if the record of a key could become too large */
  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    if (this.#context.size !== undefined) checkPolicySizes(this.#context.size, terms)
    return withFailover(this, terms, joins, (bare) => new RecordLedger(bare, this.#context))
  }
}
