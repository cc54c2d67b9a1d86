import type { Details } from '../../algorithms/evaluation.ts'
import type { Clock } from '../../clock.ts'
import { type Decision, join, type Verdict } from '../../decision.ts'
import type { Booking, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../store.ts'
import { type Call, Terms } from './job.ts'
import { keyStart, recordKey } from './key.ts'
import type { KeyQueue } from './key-queue.ts'
import type { Answers } from './pending.ts'
import { checkSizes, type SizeLimit } from './size.ts'

/** What the ledgers of one store share. */
export interface Shared {
  readonly prefix: string
  /** In milliseconds. */
  readonly timeout: number
  /** This process's time. */
  readonly clock: Clock
  readonly answers: Answers
  readonly line: KeyQueue
  /** How much the store holds of a key, if there is a bound. */
  readonly size?: SizeLimit | undefined
}

/** Keeps the states of each key as a record, a text. */
export class RecordStore implements Store {
  readonly synchronous = false
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  readonly #shared: Shared

  constructor(shared: Shared) {
    this.timeout = shared.timeout
    this.#shared = shared
  }

  /** @throws HeadgateError `HEADGATE_STATE_SIZE` for policies that it cannot hold */
  open(terms: LedgerTerms): Ledger {
    if (this.#shared.size !== undefined) checkSizes(this.#shared.size, terms)
    return new RecordLedger(terms, this.#shared)
  }
}

class RecordLedger implements Ledger {
  readonly #shared: Shared
  readonly #policies: LedgerTerms['policies']
  readonly #terms: Terms
  readonly #starts: readonly string[]
  /** The terms of each scope alone. */
  readonly #parts: readonly Terms[]

  constructor(terms: LedgerTerms, shared: Shared) {
    const { name, policies, scopes } = terms
    this.#shared = shared
    this.#policies = policies
    this.#terms = new Terms(terms)
    this.#starts = scopes.map((scope) => keyStart(shared.prefix, name, scope))
    this.#parts = scopes.map((scope) => {
      if (scopes.length === 1) return this.#terms
      return new Terms({ ...terms, policies: policies.filter((policy) => policy.scope === scope), scopes: [scope] })
    })
  }

  async decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Promise<Decision> {
    const stateKeys = this.#stateKeys(keys)
    if (verb === 'refund' && keys.length > 1) return this.#refund(stateKeys, cost, extras)
    return ((await this.#ask(this.#terms, stateKeys, { verb, cost, maxWait: 0, extras })) as Booking).decision
  }

  async reserve(keys: readonly string[], cost: number, maxWait: number, details?: Details): Promise<Booking> {
    const call = { verb: 'reserve', cost, maxWait, extras: details } as const
    const { decision, wait, tickets } = (await this.#ask(this.#terms, this.#stateKeys(keys), call)) as Booking
    return { decision, wait: decision.allowed ? wait : 0, tickets }
  }

  async reset(keys: readonly string[]): Promise<void> {
    const call = { verb: 'reset', cost: 1, maxWait: 0, extras: undefined } as const
    await Promise.all(this.#stateKeys(keys).map((key, n) => this.#ask(this.#parts[n] as Terms, [key], call)))
  }

  /** Each key by itself: giving back to one never depends on another. */
  async #refund(keys: readonly string[], cost: number, extras?: DecideExtras): Promise<Decision> {
    const decisions = await Promise.all(
      keys.map(async (key, n) => {
        const places = this.#terms.scopes[n]?.places ?? []
        const tickets = extras?.tickets && places.map((place) => extras.tickets?.[place])
        const call = { verb: 'refund', cost, maxWait: 0, extras: { ...extras, tickets } } as const
        return ((await this.#ask(this.#parts[n] as Terms, [key], call)) as Booking).decision
      }),
    )
    const verdicts = new Map(decisions.flatMap(({ policies }) => policies.map((verdict) => [verdict.name, verdict])))
    const policies = this.#policies.map(({ name }) => verdicts.get(name) as Verdict)
    return join(true, policies, 'store', decisions[0]?.at)
  }

  #stateKeys(keys: readonly string[]): readonly string[] {
    return keys.map((key, n) => recordKey(this.#shared.prefix, this.#starts[n] as string, key))
  }

  #ask(terms: Terms, keys: readonly string[], call: Omit<Call, 'pending' | 'now'>): Promise<Booking | undefined> {
    const { answers, line } = this.#shared
    const now = this.#shared.clock()
    return answers.promise((pending) => line.ask(terms, keys, { ...call, now, pending }))
  }
}
