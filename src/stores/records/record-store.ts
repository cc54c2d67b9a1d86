import { withFailover } from '../../failure/index.ts'
import type { Documents, Ledger, LedgerTerms, Store, StoreTraits } from '../contract/index.ts'
import type { RecordContext } from './record-context.ts'
import { recordDocuments } from './record-documents.ts'
import { RecordLedger } from './record-ledger.ts'
import { checkPolicySizes } from './size-limit.ts'

/** A store that saves the states of each key as one text, which is called the record. */
export class RecordStore implements Store {
  readonly synchronous: boolean
  readonly traits: StoreTraits
  readonly documents?: Documents
  readonly #context: RecordContext
  readonly #ledgerOf: (terms: LedgerTerms) => Ledger

  /** @param ledgerOf opens a ledger that decides synchronously. Default: a ledger that returns promises */
  constructor(context: RecordContext, ledgerOf?: (terms: LedgerTerms) => Ledger) {
    const { kind, timeout, prefix, breaker } = context
    this.synchronous = ledgerOf !== undefined
    this.traits = { kind, timeout, prefix, breaker, fallible: true, alternatives: true }
    this.#context = context
    if (context.runDocuments !== undefined) this.documents = recordDocuments(context, context.runDocuments)
    this.#ledgerOf = ledgerOf ?? ((terms) => new RecordLedger(terms, context))
  }

  /** @throws HeadgateError `HEADGATE_STATE_SIZE` if the stored text of a key could become too large */
  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    if (this.#context.size !== undefined) checkPolicySizes(this.#context.size, terms)
    return withFailover(this, terms, joins, this.#ledgerOf)
  }
}
