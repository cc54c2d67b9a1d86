import cluster, { type Worker } from 'node:cluster'
import { HeadgateError, shown } from '../../errors.ts'
import type { MaybePromise } from '../../maybe-promise.ts'
import type { Booking, Ledger, LedgerTerms, Store } from '../store.ts'
import {
  type Answer,
  type Answers,
  areQuestions,
  packTerms,
  type Question,
  type Questions,
  unpackTerms,
  unpackTickets,
} from './wire.ts'

/** The names of the stores that are open: two of one name would both answer. */
const open = new Set<string>()

/** Ledgers kept by their terms; more are made again when they are needed. */
const most = 1000

/** The side that has the states: decides for itself and for every worker that asks. */
export class PrimaryStore implements Store {
  readonly synchronous: boolean
  readonly #name: string
  readonly #store: Store
  /** By the limiter's name: whose states those of other terms share. */
  readonly #first = new Map<string, Ledger>()
  readonly #ledgers = new Map<string, Ledger>()

  /** @throws HeadgateError `HEADGATE_OPTION` if a store of that name is open */
  constructor(name: string, store: Store) {
    if (open.has(name)) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `clusterStore: a store named ${shown(name)} is open. Use that one, or give this another name.`,
      )
    }
    this.#name = name
    this.#store = store
    this.synchronous = store.synchronous
    open.add(name)
    cluster.on('message', this.#hear)
  }

  /** Without `retune`, which is for states that nobody else can reach. */
  open(terms: LedgerTerms): Ledger {
    const ledger = this.#ledgerOf(packTerms(terms), terms)
    return {
      decide: (...call) => ledger.decide(...call),
      reserve: (...call) => ledger.reserve(...call),
      reset: (keys) => ledger.reset(keys),
    }
  }

  /** Answers no worker any more. */
  close(): void {
    open.delete(this.#name)
    cluster.removeListener('message', this.#hear)
  }

  /** The same for all who ask under the same terms. */
  #ledgerOf(text: string, terms: LedgerTerms = unpackTerms(text)): Ledger {
    let ledger = this.#ledgers.get(text)
    if (ledger !== undefined) return ledger
    const first = this.#first.get(terms.name)
    ledger = first?.vary?.(terms) ?? this.#store.open(terms)
    if (first === undefined) this.#first.set(terms.name, ledger)
    if (this.#ledgers.size >= most) this.#ledgers.delete(this.#ledgers.keys().next().value as string)
    this.#ledgers.set(text, ledger)
    return ledger
  }

  readonly #hear = (worker: Worker, message: unknown): void => {
    if (areQuestions(message, this.#name)) void this.#answer(worker, message)
  }

  async #answer(worker: Worker, { terms, questions }: Questions): Promise<void> {
    const answers = await Promise.all(questions.map(([id, index, question]) => this.#tell(id, terms[index], question)))
    const message: Answers = { headgate: this.#name, answers }
    // A worker that has died meanwhile needs no answer.
    if (worker.isConnected()) worker.send(message, undefined, undefined, () => {})
  }

  async #tell(id: number, terms: string | undefined, question: Question): Promise<Answer> {
    try {
      return [id, (await ask(this.#ledgerOf(terms ?? ''), question)) ?? null]
    } catch (error) {
      const code = error instanceof HeadgateError ? error.code : 'HEADGATE_STORE'
      return [id, null, { code, message: error instanceof Error ? error.message : String(error) }]
    }
  }
}

function ask(ledger: Ledger, { verb, keys, cost, maxWait, extras }: Question): MaybePromise<Booking | undefined> {
  if (verb === 'reserve') return ledger.reserve(keys, cost, maxWait, extras)
  if (verb === 'reset') return ledger.reset(keys) as undefined
  const tickets = extras.tickets && unpackTickets(extras.tickets)
  const decision = ledger.decide(verb, keys, cost, { ...extras, tickets })
  if ('then' in decision) return decision.then((decided) => ({ decision: decided, wait: 0, tickets: undefined }))
  return { decision, wait: 0, tickets: undefined }
}
