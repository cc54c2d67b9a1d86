import { type Costs, unitsBack } from '../../algorithms/evaluation.ts'
import { type Decision, join, type Verdict } from '../../decision.ts'
import { HeadgateError } from '../../errors.ts'
import type { KeptKey, KeyPage } from '../../inspection/kept-key.ts'
import { PendingCall } from '../deadlines.ts'
import { decodeId } from '../encode.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions } from '../store.ts'
import type { RecordCall } from './job.ts'
import { keptRecord } from './key-record.ts'
import type { RecordContext } from './record-context.ts'
import { keepsStart, limiterStart, recordKey, recordKeyStart } from './record-key.ts'
import { ScopedEvaluation } from './scoped-evaluation.ts'

type CallTerms = Omit<RecordCall, 'pending' | 'now' | 'late'>

const ignore = (): void => {}

export class RecordLedger implements Ledger {
  readonly #context: RecordContext
  readonly #policies: LedgerTerms['policies']
  readonly #whole: ScopedEvaluation
  /** An evaluation of each scope alone. */
  readonly #parts: readonly ScopedEvaluation[]
  /** The prefix of the keys of each scope. */
  readonly #keyStarts: readonly string[]
  /** Absent if the store cannot list its keys. */
  readonly clear?: () => Promise<void>
  readonly #scopes: readonly string[]
  /** Absent if the store cannot list its keys. */
  readonly list?: (scope: string, from: unknown) => Promise<KeyPage>

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
    this.#scopes = scopes
    const { clear, page, prefix } = context
    if (clear !== undefined) this.clear = () => this.#clear(clear, limiterStart(prefix, name))
    if (page !== undefined) this.list = (scope, from) => this.#list(page, scope, from)
  }

  async decide(verb: DecideVerb, keys: readonly string[], costs: Costs, options?: DecideOptions): Promise<Decision> {
    const recordKeys = this.#recordKeys(keys)
    const givesBack = verb === 'refund' || verb === 'settle'
    if (givesBack && keys.length > 1) return this.#giveBack(verb, recordKeys, costs, options)
    const { decision } = (await this.#call(this.#whole, recordKeys, { verb, costs, maxWait: 0, options })) as Booking
    return decision
  }

  async reserve(
    keys: readonly string[],
    costs: Costs,
    maxWait: number,
    { renews, ...options }: ReserveOptions = {},
  ): Promise<Booking> {
    const verb = renews === undefined ? 'reserve' : 'renew'
    const call = { verb, costs, maxWait, options: { ...options, tickets: renews } } as const
    const booking = (await this.#call(this.#whole, this.#recordKeys(keys), call)) as Booking
    return booking.decision.allowed ? booking : { decision: booking.decision, wait: 0, tickets: undefined }
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#change(keys, { verb: 'reset', costs: 1, maxWait: 0, options: undefined })
  }

  async block(keys: readonly (string | undefined)[], duration: number, reason: string | undefined): Promise<void> {
    await this.#change(keys, { verb: 'block', costs: 1, maxWait: 0, options: undefined, block: { duration, reason } })
  }

  async unblock(keys: readonly (string | undefined)[]): Promise<void> {
    await this.#change(keys, { verb: 'unblock', costs: 1, maxWait: 0, options: undefined })
  }

  /** Changes the record of each key by itself. */
  async #change(keys: readonly (string | undefined)[], call: CallTerms): Promise<void> {
    const { prefix } = this.#context
    const change = (key: string | undefined, n: number) => {
      if (key === undefined) return undefined
      const recordKeys = [recordKey(prefix, this.#keyStarts[n] as string, key)]
      return this.#call(this.#parts[n] as ScopedEvaluation, recordKeys, call)
    }
    await Promise.all(keys.map(change))
  }

  async #clear(clear: NonNullable<RecordContext['clear']>, start: string): Promise<void> {
    if (!this.#keyStarts.every(keepsStart)) throw cannotFind('clear')
    await clear(start)
  }

  async inspect(keys: readonly string[]): Promise<readonly KeptKey[]> {
    const { deadlines, read } = this.#context
    const { texts, now } = await deadlines.reading(read(this.#recordKeys(keys)))
    return texts.map((text) => ({ now, ...keptRecord(text) }))
  }

  async #list(page: NonNullable<RecordContext['page']>, scope: string, from: unknown): Promise<KeyPage> {
    const start = this.#keyStarts[this.#scopes.indexOf(scope)] as string
    if (!keepsStart(start)) throw cannotFind('list')
    const { keys, texts, now, more } = await this.#context.deadlines.reading(page(start, (from as string) ?? start))
    const listed = keys.flatMap((key, n) => {
      try {
        return { ...decodeId(key.slice(start.length)), kept: { now, ...keptRecord(texts[n]) } }
      } catch {
        return [] // another program's text: no decision reads it either
      }
    })
    return { keys: listed, next: more ? keys.at(-1) : undefined }
  }

  /** Gives back to each key by itself: what one key gets back never depends on another. */
  async #giveBack(
    verb: 'refund' | 'settle',
    keys: readonly string[],
    costs: Costs,
    options?: DecideOptions,
  ): Promise<Decision> {
    const decisions = await Promise.all(
      keys.map(async (key, n) => {
        const tickets = options?.tickets && this.#partOf(n, options.tickets)
        const own = typeof costs === 'number' ? costs : this.#partOf(n, costs)
        const call = { verb, costs: own, maxWait: 0, options: { ...options, tickets } } as const
        return ((await this.#call(this.#parts[n] as ScopedEvaluation, [key], call)) as Booking).decision
      }),
    )
    const verdicts = new Map(decisions.flatMap(({ policies }) => policies.map((verdict) => [verdict.name, verdict])))
    const policies = this.#policies.map(({ name }) => verdicts.get(name) as Verdict)
    const { at, blocked } = longestBlocked(decisions)
    return { ...join(true, policies, 'store', at), ...(blocked && { blocked }) }
  }

  /** Those of the policies of one scope. */
  #partOf<T>(scope: number, all: readonly T[]): readonly T[] {
    const places = this.#whole.scopes[scope]?.places ?? []
    return places.map((place) => all[place] as T)
  }

  #recordKeys(keys: readonly string[]): readonly string[] {
    return keys.map((key, n) => recordKey(this.#context.prefix, this.#keyStarts[n] as string, key))
  }

  #call(scoped: ScopedEvaluation, keys: readonly string[], call: CallTerms): Promise<Booking | undefined> {
    const { deadlines, queue } = this.#context
    const now = this.#context.clock()
    const late = (booking: Booking) => this.#takeBack(keys, call, booking)
    return deadlines.promise((pending) => {
      pending.sent = false
      queue.add(scoped, keys, { ...call, now, pending, late })
    })
  }

  /**
   * Gives back what a call took that has timed out. No caller waits for that, so it has no deadline. A charge stays:
   * reconciliation counts it as made. A renewed reservation goes on with the tickets that it has.
   */
  #takeBack(keys: readonly string[], { verb, costs }: Pick<RecordCall, 'verb' | 'costs'>, booking: Booking): void {
    if ((verb !== 'consume' && verb !== 'reserve') || !booking.decision.allowed) return
    const { clock, deadlines, queue } = this.#context
    for (const [n, key] of keys.entries()) {
      const pending = new PendingCall<Booking | undefined>(deadlines, ignore, ignore)
      const call = { ...this.#takingBack(n, costs, booking), maxWait: 0, now: clock(), pending, late: ignore }
      queue.add(this.#parts[n] as ScopedEvaluation, [key], call)
    }
  }

  /** A shadow that did not admit the call took nothing. */
  #takingBack(n: number, costs: Costs, booking: Booking): Pick<RecordCall, 'verb' | 'costs' | 'options'> {
    if (booking.tickets === undefined) {
      const taken = booking.decision.policies.map(({ allowed }, place) => {
        return allowed ? (typeof costs === 'number' ? costs : (costs[place] as number)) : 0
      })
      return { verb: 'refund', costs: this.#partOf(n, taken), options: undefined }
    }
    const tickets = this.#partOf(n, booking.tickets)
    return { verb: 'settle', costs: unitsBack(tickets), options: { tickets } }
  }
}

/** The error of a limiter some of whose keys do not begin with its name. */
function cannotFind(method: 'clear' | 'list'): HeadgateError {
  const alone = method === 'clear' ? 'Reset' : 'Inspect'
  return new HeadgateError(
    'HEADGATE_UNSUPPORTED',
    `${method} cannot find the keys of this limiter: its prefix, name and scope are so long that the store keeps digests. ` +
      `${alone} single keys, or shorten one of them.`,
  )
}

/** The decision that tells the longest block; the first one if none is blocked. */
function longestBlocked(decisions: readonly Decision[]): Decision {
  const until = ({ blocked }: Decision) => blocked?.until ?? 0
  return decisions.reduce((longest, each) => (until(each) > until(longest) ? each : longest))
}
