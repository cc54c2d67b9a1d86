import type { Costs, DecidingVerb, Tickets } from '../../algorithms/evaluation/index.ts'
import { HeadgateError, type MaybePromise, monotonicClock } from '../../common/index.ts'
import type { KeyPage } from '../../inspection/index.ts'
import type { Decision } from '../../policy/index.ts'
import {
  allParts,
  type Booking,
  bookingOf,
  type Command,
  type Ledger,
  type LedgerTerms,
  limiterStart,
  type NumberedReport,
  type Outcome,
  type OutcomeOf,
  type ScanTerms,
  tellThresholds,
  type Verb,
} from '../contract/index.ts'
import { redisError } from './client/index.ts'
import { clearKeys, KeptKeys } from './inspect/index.ts'
import { encodeId, keyStart, reportKey, slotOf } from './keys.ts'
import type { RedisContext } from './redis-context.ts'
import { type PackedPlan, packPlan } from './script/index.ts'
import {
  decisionOf,
  lateResponse,
  type RequestExtras,
  type ScriptRequest,
  type ScriptResponse,
  type SlotGroup,
  SlotGroups,
  sendInTwoPhases,
  severalSlots,
  thresholdsOf,
} from './wire/index.ts'

/** The parts of a `consume` command that a decision needs, without the cost. */
type Call = Pick<Command<'consume'>, 'keys' | 'details' | 'windows' | 'calendar'>

export class RedisLedger implements Ledger {
  readonly #terms: LedgerTerms
  readonly #context: RedisContext
  readonly #plan: PackedPlan
  /** The prefix of all Redis keys of the limiter. All plans (sets of policies) of the limiter use this prefix. */
  readonly #start: string
  /** The prefixes of the Redis keys, one for each scope (kind of key, such as user). */
  readonly #keyStarts: readonly string[]
  readonly #slotGroups: SlotGroups
  readonly #kept: KeptKeys
  readonly #scopes: readonly string[]
  /** True if the cache of refusals is on, and refusals change no state, so that the cache can repeat them. */
  readonly #cacheable: boolean
  readonly #thresholds: ReturnType<typeof thresholdsOf>

  constructor(terms: LedgerTerms, context: RedisContext) {
    const { name, policies, scopes, onChange = 'keep' } = terms
    this.#context = context
    this.#start = limiterStart(context.prefix, name)
    this.#plan = packPlan(this.#start, policies, scopes, onChange)
    this.#keyStarts = scopes.map((scope) => keyStart(context.prefix, name, scope))
    this.#scopes = scopes
    this.#terms = terms
    this.#thresholds = thresholdsOf(terms)
    this.#kept = new KeptKeys(terms, this.#plan, context)
    this.#slotGroups = new SlotGroups(this.#plan, onChange)
    this.#cacheable =
      context.refusalCache !== undefined &&
      !policies.some(({ countRefused, algorithm }) => countRefused && (!algorithm.punishes || algorithm.countsAlways))
    // Calls under an override for some keys are rare, so such a plan gets none of the store's few short scripts.
    if (terms.override !== 'some') this.#plan.short = context.shortScripts.of(this.#plan, this.#cacheable)
  }

  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    return this.#run(command) as MaybePromise<OutcomeOf<V>>
  }

  #run(command: Command): MaybePromise<Outcome> {
    const { verb, costs = 1 } = command
    if (verb === 'ban' || verb === 'unban') return this.#changeBan(command as Command<'ban' | 'unban'>)
    if (verb === 'scan') return this.#scan(command.scan as ScanTerms)
    if (verb === 'clear') return this.#clear()
    const keys = this.#stateKeys(command.keys as readonly string[])
    if (verb === 'consume' && typeof costs === 'number' && costs > 0)
      return this.#consume(keys, costs, command as Command<'consume'>)
    if (verb === 'inspect') return this.#kept.inspect(keys)
    if (verb === 'reset') return this.#reset(keys)
    return this.#decide(command as Command<DecidingVerb>, keys)
  }

  async #decide(command: Command<DecidingVerb>, keys: readonly string[]): Promise<Decision | Booking> {
    const { verb, costs = 1, keys: named, report, windows, calendar } = command
    const late = lateResponse(this.#terms, command, this.#thresholds(named))
    const { alternatives, maxWait, expires, details, tickets, unreserved } = command
    const key = report && reportKey(this.#context.prefix, keys[0] as string, report.by)
    const numbered = key === undefined ? undefined : { report: { ...(report as NumberedReport), key } }
    const terms = { alternatives, maxWait, expires, details, tickets, unreserved, windows, calendar }
    const extras = { ...terms, late, ...numbered }
    const response = await this.#sendOther(this.#request(verb, keys, costs, extras))
    this.#context.leases?.owe(verb, this.#plan, keys, response)
    const decision = decisionOf(this.#plan.policies, response, details)
    if ((verb !== 'reserve' && verb !== 'renew') || response.elsewhere !== undefined) return decision
    const booking = bookingOf(decision, response.delay, () => response.tickets as Tickets)
    return verb === 'renew' ? { ...booking, tickets: response.tickets } : booking
  }

  async #reset(keys: readonly string[]): Promise<undefined> {
    // The keys are published after a failure too, because some slots may have executed the reset.
    await this.#sendOther(this.#request('reset', keys, 1)).finally(() => this.#context.resets?.publish(keys))
  }

  /** Bans or unbans the key of each scope (kind of key, such as user), with a request for each key. */
  async #changeBan({ verb, keys, ban }: Command<'ban' | 'unban'>): Promise<undefined> {
    const stateKeys: string[] = []
    const sent = keys.flatMap((key, n) => {
      if (key === undefined) return []
      const stateKey = `${this.#keyStarts[n]}${encodeId(key)}}`
      stateKeys.push(stateKey)
      const scopes = [this.#plan.scopes[n] as string]
      const plan = this.#slotGroups.part(scopes)
      return { scopes, result: this.#sendOther({ ...this.#request(verb, [stateKey], 1, { ban }), plan }) }
    })
    await allParts(sent).finally(() => this.#context.resets?.publish(stateKeys))
  }

  async #clear(): Promise<undefined> {
    const { connection, resets } = this.#context
    this.#forgetAll()
    try {
      await clearKeys(connection, this.#start)
    } catch (cause) {
      throw redisError(cause, '')
    } finally {
      this.#forgetAll()
      resets?.publishAll(this.#start)
    }
  }

  #forgetAll(): void {
    this.#context.refusalCache?.forgetAll(this.#start)
    this.#context.leases?.forgetAll(this.#start)
  }

  #scan({ scope, from }: ScanTerms): Promise<KeyPage> {
    return this.#kept.list(this.#keyStarts[this.#scopes.indexOf(scope)] as string, from)
  }

  #stateKeys(keys: readonly string[]): readonly string[] {
    if (keys.length === 1) return [`${this.#keyStarts[0]}${encodeId(keys[0] as string)}}`]
    return keys.map((key, scope) => `${this.#keyStarts[scope]}${encodeId(key)}}`)
  }

  #consume(keys: readonly string[], cost: number, call: Call): MaybePromise<Decision> {
    const { leases } = this.#context
    leases?.wants(keys, cost)
    const local = this.#decideLocally(keys, cost, call)
    if (local !== undefined) return local
    const lease = leases?.waitFor(this.#plan, keys, cost)
    if (lease === undefined) return this.#sendConsume(keys, cost, call)
    const decision = lease.then((spent) => {
      if (spent !== undefined) return decisionOf(this.#plan.policies, spent.response, call.details, spent.elapsed)
      return this.#decideLocally(keys, cost, call) ?? this.#sendConsume(keys, cost, call)
    })
    const sentAt = monotonicClock()
    return this.#context.batcher.within(decision, (late) => {
      tellThresholds(this.#terms, call.keys, late)
      const elapsed = (monotonicClock() - sentAt) / 1000
      this.#terms.onLate?.(
        { verb: 'consume', keys: call.keys, costs: cost },
        { decision: late, tickets: undefined },
        elapsed,
      )
    })
  }

  /** Decides without a request: by a cached refusal, or by leased units. Undefined if the call needs a request. */
  #decideLocally(keys: readonly string[], cost: number, { keys: named, details, windows }: Call): Decision | undefined {
    const { policies } = this.#plan
    const { refusalCache, leases } = this.#context
    const spent = leases?.spend(this.#plan, keys, cost)
    if (spent === undefined) {
      const refusal = this.#cacheable ? refusalCache?.refusal(this.#plan, keys, cost) : undefined
      return refusal && decisionOf(policies, refusal.response, details, refusalCache?.age(refusal))
    }
    const units = leases?.unitsToPrefetch(this.#plan, keys) ?? 0
    if (units > 0) this.#sendConsume(keys, 0, { keys: named, windows }, units).catch(() => undefined) // if this request fails, the next call fails with the cause
    return decisionOf(policies, spent.response, details, spent.elapsed)
  }

  /** Sends a `consume`. @param prefetched how many units to lease for later calls; default: the number that `leases.unitsFor` returns */
  #sendConsume(keys: readonly string[], cost: number, call: Call, prefetched?: number): Promise<Decision> {
    const { details, windows, calendar } = call
    const tell = this.#thresholds(call.keys)
    const late = lateResponse(this.#terms, { verb: 'consume', keys: call.keys, costs: cost }, tell)
    const { batcher, clock, refusalCache, leases } = this.#context
    const plan = this.#plan
    const groups = this.#groups(keys)
    const units = groups === undefined ? (prefetched ?? leases?.unitsFor(plan, keys, cost)) : undefined
    const lease = units === undefined ? undefined : { units, shortestLife: leases?.shortestLife ?? 0 }
    const extras = { details, windows, calendar, late, cacheable: this.#cacheable, lease }
    const request: ScriptRequest = { plan, verb: 'consume', keys, costs: cost, now: clock?.() ?? -1, ...extras }
    const sentAt = (clock ?? monotonicClock)()
    refusalCache?.forgetOtherPlans(plan, keys)
    const refusalCacheVersion = refusalCache?.version ?? 0
    const [leasesVersion, charges] = [leases?.version ?? 0, leases?.charges ?? 0]
    /** Makes the decision, and stores the refusal or the leased units (taken in advance) for later calls. */
    const decide = (response: ScriptResponse): Decision => {
      if (response.elsewhere !== undefined) return decisionOf(plan.policies, response)
      refusalCache?.forgetOtherPlans(plan, keys)
      if (!response.allowed && this.#cacheable)
        refusalCache?.add(plan, keys, cost, response, sentAt, refusalCacheVersion)
      leases?.answered(plan, keys, response, sentAt, leasesVersion, charges, units !== undefined)
      if (prefetched !== undefined) tell?.(response) // no caller gets the decision
      return decisionOf(plan.policies, response, details)
    }
    if (groups !== undefined) return this.#send(request, groups).then(decide)
    const decision = batcher.send(request, decide)
    if (units !== undefined) leases?.request(plan, keys, units - cost, decision)
    return decision
  }

  #request(verb: ScriptRequest['verb'], keys: readonly string[], cost: Costs, extras?: RequestExtras): ScriptRequest {
    // A cost of 0 is sent as a list, because the script handles a 0 only in a list.
    const costs = cost === 0 ? this.#plan.policies.map(() => 0) : cost
    return { plan: this.#plan, verb, keys, costs, now: this.#context.clock?.() ?? -1, ...extras }
  }

  /** Sends a request that is not a `consume`. The request may give units back, so the cached refusals of its keys are removed. */
  async #sendOther(request: ScriptRequest): Promise<ScriptResponse> {
    const { verb, keys } = request
    if (verb === 'peek') return this.#send(request)
    this.#forget(verb, keys)
    try {
      return await this.#send(request)
    } finally {
      this.#forget(verb, keys)
    }
  }

  /**
   * Removes cached refusals of these keys. Removes leased units (taken in advance) only after a reset or a ban, because only these verbs
   * make leased units invalid.
   */
  #forget(verb: ScriptRequest['verb'], keys: readonly string[]): void {
    this.#context.refusalCache?.forget(keys)
    if (verb === 'reset' || verb === 'ban') this.#context.leases?.forget(keys)
  }

  #send(
    request: ScriptRequest,
    groups: readonly SlotGroup[] | undefined = this.#groups(request.keys),
  ): Promise<ScriptResponse> {
    const { batcher, connection } = this.#context
    const send = (each: ScriptRequest) => batcher.send(each, (response) => response)
    if (groups === undefined) return send(request)
    if (request.alternatives !== undefined) throw severalSlots()
    /** The nodes that have not answered yet. If the timeout of the whole call passes, the error names these nodes as the cause. */
    const waiting = new Map<ScriptRequest, string>()
    const sendPart = async (each: ScriptRequest) => {
      waiting.set(each, connection.nodeOf(slotOf(each.keys[0] as string)))
      const response = await send(each)
      waiting.delete(each)
      return response
    }
    return batcher.within(sendInTwoPhases(sendPart, request, groups), request.late).catch((error: HeadgateError) => {
      const { code, message, shards, cause } = error
      if (code !== 'HEADGATE_STORE_TIMEOUT' || shards !== undefined || cause !== undefined) throw error
      throw new HeadgateError(code, message, { shards: [...waiting.values()] })
    })
  }

  /**
   * The keys in groups, one group for each slot, because one script call can use only one slot of a Cluster. Undefined if all
   * keys are in one slot.
   */
  #groups(keys: readonly string[]): readonly SlotGroup[] | undefined {
    return this.#context.connection.cluster && keys.length > 1 ? this.#slotGroups.of(keys) : undefined
  }
}
