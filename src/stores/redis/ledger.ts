import type { StateRule } from '../../algorithms/carry.ts'
import type { Details } from '../../algorithms/evaluation.ts'
import type { Decision } from '../../decision.ts'
import type { MaybePromise } from '../../maybe-promise.ts'
import type { Booking, DecideExtras, DecideVerb, Ledger, LedgerTerms } from '../store.ts'
import { encodeId, keyStart, slotOf } from './keys.ts'
import { type QuestionExtras, Request } from './request.ts'
import { decisionOf, type Response } from './response.ts'
import type { Shared } from './shared.ts'
import { Take } from './take.ts'
import { packTerms, type Terms } from './terms.ts'
import { type Ask, askInTwoPhases, type Group } from './two-phase.ts'

export class RedisLedger implements Ledger {
  readonly #shared: Shared
  readonly #terms: Terms
  readonly #onChange: StateRule
  readonly #starts: readonly string[]
  /** Whether a refusal changes nothing, so that it can be repeated without asking. */
  readonly #repeats: boolean
  readonly #plain: QuestionExtras
  /** The terms of some of the scopes alone. */
  readonly #parts = new Map<string, Terms>()

  constructor({ name, policies, scopes, onChange = 'keep' }: LedgerTerms, shared: Shared) {
    this.#shared = shared
    this.#onChange = onChange
    this.#terms = packTerms(policies, scopes, onChange)
    this.#starts = scopes.map((scope) => keyStart(shared.prefix, name, scope))
    this.#repeats =
      shared.denials !== undefined &&
      !policies.some(({ countRefused, algorithm }) => countRefused && !algorithm.punishes)
    this.#plain = { denial: this.#repeats }
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): MaybePromise<Decision> {
    const stateKeys = this.#stateKeys(keys)
    if (verb === 'consume') return this.#consume(stateKeys, cost, extras)
    const question = this.#question(verb, stateKeys, cost, { details: extras, tickets: extras?.tickets })
    return this.#change(question).then((answer) => decisionOf(this.#terms.policies, answer, extras))
  }

  async reserve(keys: readonly string[], cost: number, maxWait: number, details?: Details): Promise<Booking> {
    const answer = await this.#change(this.#question('reserve', this.#stateKeys(keys), cost, { maxWait, details }))
    const decision = decisionOf(this.#terms.policies, answer, details)
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    return { decision, wait: Math.ceil(answer.delay / 1000), tickets: answer.tickets }
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#change(this.#question('reset', this.#stateKeys(keys), 1))
  }

  #stateKeys(keys: readonly string[]): readonly string[] {
    if (keys.length === 1) return [`${this.#starts[0]}${encodeId(keys[0] as string)}}`]
    return keys.map((key, scope) => `${this.#starts[scope]}${encodeId(key)}}`)
  }

  #question(verb: Request['verb'], keys: readonly string[], cost: number, extras?: QuestionExtras): Request {
    return new Request(this.#terms, verb, keys, cost, this.#shared.clock?.() ?? -1, extras)
  }

  #consume(keys: readonly string[], cost: number, details?: Details): MaybePromise<Decision> {
    const known = this.#known(keys, cost, details)
    if (known !== undefined) return known
    const coming = this.#shared.leases?.coming(this.#terms, keys, cost)
    if (coming === undefined) return this.#take(keys, cost, details)
    const decision = coming.then((brought) => {
      if (brought) return this.#consume(keys, cost, details)
      return this.#known(keys, cost, details) ?? this.#take(keys, cost, details)
    })
    return this.#shared.caller.within(decision, ({ allowed }) => {
      if (allowed) this.#change(this.#question('refund', keys, cost)).catch(() => undefined)
    })
  }

  /** What can be said without asking: a refusal that lasts, or units that are leased. */
  #known(keys: readonly string[], cost: number, details?: Details): Decision | undefined {
    const { policies } = this.#terms
    const { denials, leases } = this.#shared
    const denial = this.#repeats ? denials?.find(this.#terms, keys, cost) : undefined
    if (denial) return decisionOf(policies, denial.answer, details, denials?.age(denial))
    const spent = leases?.spend(this.#terms, keys, cost)
    return spent && decisionOf(policies, spent.answer, details, spent.elapsed)
  }

  /** Asks Redis, and notes what can be answered without asking next time. */
  #take(keys: readonly string[], cost: number, details?: Details): Promise<Decision> {
    const { caller, clock, leases } = this.#shared
    const groups = this.#groups(keys)
    const lease = groups === undefined ? leases?.ask(keys, cost) : undefined
    const take = new Take(this.#shared, this.#terms, keys, cost, clock?.() ?? -1, this.#extras(details, lease))
    if (groups !== undefined) return this.#ask(take, groups).then((answer) => take.decide(answer))
    const decision = new Promise<Decision>((resolve, reject) => {
      take.decided = resolve
      take.reject = reject
      caller.ask(take)
    })
    if (lease !== undefined) leases?.asked(this.#terms, keys, decision, () => take.brought)
    return decision
  }

  #extras(details: Details | undefined, lease: number | undefined): QuestionExtras {
    if (details === undefined && lease === undefined) return this.#plain
    return { details, denial: this.#repeats, lease }
  }

  /** Asks something that may change a key otherwise than a call that is admitted does: what is known of it goes. */
  async #change(question: Request): Promise<Response> {
    const { verb, keys } = question
    const groups = this.#groups(keys)
    if (verb === 'peek') return this.#ask(question, groups)
    this.#forget(verb, keys)
    try {
      return await this.#ask(question, groups)
    } finally {
      this.#forget(verb, keys)
    }
  }

  /** Units of a lease are gone only when the state is that they were taken from. */
  #forget(verb: Request['verb'], keys: readonly string[]): void {
    this.#shared.denials?.forget(keys)
    if (verb === 'reset') this.#shared.leases?.forget(keys)
  }

  #ask(question: Request, groups: readonly Group[] | undefined): Promise<Response> {
    if (groups === undefined) return this.#askOnce(question)
    return this.#shared.caller.within(askInTwoPhases(this.#askOnce, question, groups))
  }

  readonly #askOnce: Ask = (question) =>
    new Promise((answered, failed) => {
      question.resolve = answered
      question.reject = failed
      this.#shared.caller.ask(question)
    })

  /** The slots of the keys, where these are several and one call can touch only one. */
  #groups(keys: readonly string[]): readonly Group[] | undefined {
    if (!this.#shared.cluster || keys.length === 1) return undefined
    const bySlot = new Map<number, number[]>()
    for (const [index, key] of keys.entries()) {
      const slot = slotOf(key)
      bySlot.set(slot, [...(bySlot.get(slot) ?? []), index])
    }
    if (bySlot.size === 1) return undefined
    return [...bySlot.values()].map((indexes) => {
      const scopes = indexes.map((index) => this.#terms.scopes[index] as string)
      const terms = this.#part(scopes)
      const places = terms.policies.map((policy) => this.#terms.policies.indexOf(policy))
      return { terms, keys: indexes.map((index) => keys[index] as string), places }
    })
  }

  #part(scopes: readonly string[]): Terms {
    const name = JSON.stringify(scopes)
    let terms = this.#parts.get(name)
    if (terms === undefined) {
      const own = this.#terms.policies.filter(({ scope }) => scopes.includes(scope))
      terms = packTerms(own, scopes, this.#onChange)
      this.#parts.set(name, terms)
    }
    return terms
  }
}
