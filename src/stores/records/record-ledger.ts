import { type Decision, join, type Verdict } from '../../decision.ts'
import type { Booking, CallOptions, DecideOptions, DecideVerb, Ledger, LedgerTerms } from '../store.ts'
import type { RecordCall } from './job.ts'
import type { RecordContext } from './record-context.ts'
import { recordKey, recordKeyStart } from './record-key.ts'
import { ScopedEvaluation } from './scoped-evaluation.ts'

export class RecordLedger implements Ledger {
  readonly #context: RecordContext
  readonly #policies: LedgerTerms['policies']
  readonly #whole: ScopedEvaluation
  /** An evaluation of each scope alone. */
  readonly #parts: readonly ScopedEvaluation[]
  /** The prefix of the keys of each scope. */
  readonly #keyStarts: readonly string[]

  constructor(terms: LedgerTerms, context: RecordContext) {
    const { name, policies, scopes } = terms
    this.#context = context
    this.#policies = policies
    this.#whole = new ScopedEvaluation(terms)
    this.#parts = scopes.map((scope) => {
      if (scopes.length === 1) return this.#whole
      const own = policies.filter((policy) => policy.scope === scope)
      return new ScopedEvaluation({ ...terms, policies: own, scopes: [scope] })
    })
    this.#keyStarts = scopes.map((scope) => recordKeyStart(context.prefix, name, scope))
  }

  async decide(verb: DecideVerb, keys: readonly string[], cost: number, options?: DecideOptions): Promise<Decision> {
    const recordKeys = this.#recordKeys(keys)
    if (verb === 'refund' && keys.length > 1) return this.#refund(recordKeys, cost, options)
    const { decision } = (await this.#call(this.#whole, recordKeys, { verb, cost, maxWait: 0, options })) as Booking
    return decision
  }

  async reserve(keys: readonly string[], cost: number, maxWait: number, options?: CallOptions): Promise<Booking> {
    const call = { verb: 'reserve', cost, maxWait, options } as const
    const booking = (await this.#call(this.#whole, this.#recordKeys(keys), call)) as Booking
    return booking.decision.allowed ? booking : { decision: booking.decision, wait: 0, tickets: undefined }
  }

  async reset(keys: readonly string[]): Promise<void> {
    const call = { verb: 'reset', cost: 1, maxWait: 0, options: undefined } as const
    await Promise.all(
      this.#recordKeys(keys).map((key, n) => this.#call(this.#parts[n] as ScopedEvaluation, [key], call)),
    )
  }

  /** Refunds each key by itself: the refund of one key never depends on another. */
  async #refund(keys: readonly string[], cost: number, options?: DecideOptions): Promise<Decision> {
    const decisions = await Promise.all(
      keys.map(async (key, n) => {
        const places = this.#whole.scopes[n]?.places ?? []
        const tickets = options?.tickets && places.map((place) => options.tickets?.[place])
        const call = { verb: 'refund', cost, maxWait: 0, options: { ...options, tickets } } as const
        return ((await this.#call(this.#parts[n] as ScopedEvaluation, [key], call)) as Booking).decision
      }),
    )
    const verdicts = new Map(decisions.flatMap(({ policies }) => policies.map((verdict) => [verdict.name, verdict])))
    const policies = this.#policies.map(({ name }) => verdicts.get(name) as Verdict)
    return join(true, policies, 'store', decisions[0]?.at)
  }

  #recordKeys(keys: readonly string[]): readonly string[] {
    return keys.map((key, n) => recordKey(this.#context.prefix, this.#keyStarts[n] as string, key))
  }

  #call(
    scoped: ScopedEvaluation,
    keys: readonly string[],
    call: Omit<RecordCall, 'pending' | 'now'>,
  ): Promise<Booking | undefined> {
    const { deadlines, queue } = this.#context
    const now = this.#context.clock()
    return deadlines.promise((pending) => queue.add(scoped, keys, { ...call, now, pending }))
  }
}
