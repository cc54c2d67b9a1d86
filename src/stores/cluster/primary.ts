import cluster, { type Worker } from 'node:cluster'
import { LRUCache } from 'lru-cache'
import { HeadgateError, shown } from '../../errors.ts'
import type { Ledger, LedgerTerms, Store } from '../store.ts'
import {
  isRequestMessage,
  type LedgerRequest,
  type LedgerResponse,
  type LedgerResult,
  packTerms,
  type RequestMessage,
  type ResponseMessage,
  unpackTerms,
  unpackTickets,
} from './messages.ts'

/** The names of the open stores. Two stores of one name would both respond to a worker. */
const openNames = new Set<string>()

/** The most ledgers that are kept. One that was dropped is opened again when a request needs it. */
const maxLedgers = 1000

/** The side that has the states. It decides for its own process and for every worker. */
export class PrimaryStore implements Store {
  readonly kind = 'cluster'
  readonly synchronous: boolean
  readonly #name: string
  readonly #store: Store
  /** The first ledger of each limiter, by the limiter's name: ledgers under other policies share its states. */
  readonly #first = new Map<string, Ledger>()
  /** By their packed terms. */
  readonly #ledgers = new LRUCache<string, Ledger>({ max: maxLedgers })

  /** @throws HeadgateError `HEADGATE_OPTION` if a store of that name is open */
  constructor(name: string, store: Store) {
    if (openNames.has(name)) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `clusterStore: a store named ${shown(name)} is open. Use that one, or give this another name.`,
      )
    }
    this.#name = name
    this.#store = store
    this.synchronous = store.synchronous
    openNames.add(name)
    cluster.on('message', this.#onMessage)
  }

  /** The ledger has no `retune`, which is only for states that no other process can reach. */
  open(terms: LedgerTerms): Ledger {
    const ledger = this.#ledgerOf(packTerms(terms), terms)
    return {
      decide: (...call) => ledger.decide(...call),
      reserve: (...call) => ledger.reserve(...call),
      reset: (keys) => ledger.reset(keys),
      clear: () => ledger.clear?.(),
      block: (...block) => ledger.block?.(...block),
      unblock: (keys) => ledger.unblock?.(keys),
      ...shownBy(ledger),
    }
  }

  /** Stops responding to workers. */
  close(): void {
    openNames.delete(this.#name)
    cluster.removeListener('message', this.#onMessage)
  }

  #ledgerOf(packed: string, terms: LedgerTerms = unpackTerms(packed)): Ledger {
    const known = this.#ledgers.get(packed)
    if (known !== undefined) return known
    const first = this.#first.get(terms.name)
    const ledger = first?.vary?.(terms) ?? this.#store.open(terms)
    if (first === undefined) this.#first.set(terms.name, ledger)
    this.#ledgers.set(packed, ledger)
    return ledger
  }

  readonly #onMessage = (worker: Worker, message: unknown): void => {
    if (isRequestMessage(message, this.#name)) void this.#respond(worker, message)
  }

  async #respond(worker: Worker, { terms, requests }: RequestMessage): Promise<void> {
    const responses = await Promise.all(requests.map(([id, index, request]) => this.#call(id, terms[index], request)))
    const message: ResponseMessage = { headgate: this.#name, responses }
    // A worker that has died meanwhile needs no response.
    if (worker.isConnected()) worker.send(message, undefined, undefined, () => {})
  }

  async #call(id: number, terms: string | undefined, request: LedgerRequest): Promise<LedgerResponse> {
    try {
      return [id, (await carryOut(this.#ledgerOf(terms ?? ''), request)) ?? null]
    } catch (error) {
      const code = error instanceof HeadgateError ? error.code : 'HEADGATE_STORE'
      return [id, null, { code, message: error instanceof Error ? error.message : String(error) }]
    }
  }
}

/** What the ledger shows of keys, if it can. */
function shownBy(ledger: Ledger): Pick<Ledger, 'inspect' | 'list'> {
  return {
    ...(ledger.inspect && { inspect: ledger.inspect.bind(ledger) }),
    ...(ledger.list && { list: ledger.list.bind(ledger) }),
  }
}

async function carryOut(ledger: Ledger, request: LedgerRequest): Promise<LedgerResult | undefined> {
  const { verb, costs, maxWait, options, block, listed } = request
  const some = request.keys.map((key) => key ?? undefined)
  if (verb === 'block') return ledger.block?.(some, block?.duration ?? Infinity, block?.reason) as undefined
  if (verb === 'unblock') return ledger.unblock?.(some) as undefined
  const keys = request.keys as readonly string[]
  if (verb === 'inspect') return ledger.inspect?.(keys)
  if (verb === 'list') return listed && ledger.list?.(...(listed as [string, unknown]))
  const [tickets, renews] = [options.tickets, options.renews].map(unpackTickets)
  if (verb === 'reserve') return ledger.reserve(keys, costs, maxWait, { ...options, renews })
  if (verb === 'reset') return ledger.reset(keys) as undefined
  if (verb === 'clear') return ledger.clear?.() as undefined
  return { decision: await ledger.decide(verb, keys, costs, { ...options, tickets }), wait: 0, tickets: undefined }
}
