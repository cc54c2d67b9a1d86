import cluster, { type Worker } from 'node:cluster'
import { LRUCache } from 'lru-cache'
import { HeadgateError, shown } from '../../common/index.ts'
import {
  type Command,
  type Documents,
  type Ledger,
  type LedgerTerms,
  memoryDocuments,
  type Store,
  type StoreTraits,
} from '../contract/index.ts'
import {
  type DocumentCommand,
  isRequestMessage,
  type LedgerResponse,
  packTerms,
  type RequestMessage,
  type ResponseMessage,
  restore,
  unpackTerms,
} from './messages.ts'

/** The names of the open stores. Two stores must not have the same name, because both would answer a worker. */
const openNames = new Set<string>()

/** The largest number of ledgers (access to states) in memory. A removed ledger is opened again when a request needs it. */
const maxLedgers = 1000

/** The store in the primary, which has the states. This store decides the calls of its own process and of every worker. */
export class PrimaryStore implements Store {
  readonly synchronous: boolean
  readonly traits: StoreTraits = { kind: 'cluster', fallible: false, alternatives: true }
  readonly documents: Documents = memoryDocuments()
  readonly #name: string
  readonly #store: Store
  /**
   * The first ledger (access to the states) of each limiter, by the limiter's name. Later ledgers of the limiter, with other policies,
   * share the states of the first ledger.
   */
  readonly #first = new Map<string, Ledger>()
  /** The ledgers (access to states) in memory, by the text that describes the limiter's name, policies and scopes. */
  readonly #ledgers = new LRUCache<string, Ledger>({ max: maxLedgers })

  /** @throws HeadgateError `HEADGATE_OPTION` if a store with this name is open */
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

  open(terms: LedgerTerms): Ledger {
    return this.#ledgerOf(packTerms(terms), terms)
  }

  /** Stops responding to workers. The states stay in memory. */
  close(): void {
    openNames.delete(this.#name)
    cluster.removeListener('message', this.#onMessage)
  }

  #ledgerOf(packed: string, terms: LedgerTerms = unpackTerms(packed)): Ledger {
    const known = this.#ledgers.get(packed)
    if (known !== undefined) return known
    const first = this.#first.get(terms.name)
    const ledger = this.#store.open(terms, first)
    if (first === undefined) this.#first.set(terms.name, ledger)
    this.#ledgers.set(packed, ledger)
    return ledger
  }

  readonly #onMessage = (worker: Worker, message: unknown): void => {
    if (isRequestMessage(message, this.#name)) void this.#respond(worker, message)
  }

  async #respond(worker: Worker, { terms, requests }: RequestMessage): Promise<void> {
    const responses = await Promise.all(requests.map(([id, index, command]) => this.#call(id, terms[index], command)))
    const message: ResponseMessage = { headgate: this.#name, responses }
    // If the worker has died since it sent the request, no response is sent.
    if (worker.isConnected()) worker.send(message, undefined, undefined, () => {})
  }

  async #call(id: number, terms: string | undefined, command: Command | DocumentCommand): Promise<LedgerResponse> {
    try {
      if ('args' in command) return [id, await this.#callDocuments(command)]
      return [id, (await this.#ledgerOf(terms ?? '').run(restore(command))) ?? null]
    } catch (error) {
      const code = error instanceof HeadgateError ? error.code : 'HEADGATE_STORE'
      return [id, null, { code, message: error instanceof Error ? error.message : String(error) }]
    }
  }

  #callDocuments({ verb, args }: DocumentCommand): unknown {
    const documents: Readonly<Record<keyof Documents, (...args: never[]) => unknown>> = this.documents
    return documents[verb](...(args as never[]))
  }
}
