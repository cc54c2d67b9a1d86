/*
 * The laws of plans, as properties of real answers: a script of random calls under several plans is played again and again on
 * new keys, each time with another end. No answer is computed here, so the laws need no arithmetic of any algorithm.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Clock, type Decision, RateLimiter, type Reservation, type Store } from '../../src/index.ts'
import { type Random, randomOf } from '../support/seeded-random.ts'
import {
  burstOf,
  capacityOf,
  inText,
  type Numbers,
  type Plan,
  policyOf,
  programOf,
  randomStep,
  randomWorld,
  type Step,
  type World,
  type WorldKind,
} from './worlds.ts'

/** Creates an empty store. Each name is used once. */
export type CreateStore = (clock: Clock, name: string) => Store

const start = 1_767_225_600_000_000

/** The limiters of a world on a store whose time the laws set. */
class Rig {
  time = start
  keys = 0
  calls = 0
  readonly world: World
  readonly limiters: readonly RateLimiter[]
  readonly #name: string
  readonly #store: Store

  constructor(world: World, create: CreateStore, name: string) {
    const store = create(() => this.time, name)
    const plans = world.plans.map(({ policies, penalty }) => ({
      policies: policies.map(policyOf),
      penalty: penalty ?? (false as const),
    }))
    const first = new RateLimiter({ name, policies: plans[0]!.policies, store, onChange: world.onChange })
    this.world = world
    this.#name = name
    this.#store = store
    this.limiters = plans.map((plan) => first.withPlan(plan))
  }

  /** A limiter of its own, with that plan alone. */
  alone(policies: readonly Numbers[]): RateLimiter {
    return new RateLimiter({
      name: `${this.#name}-${this.keys++}`,
      policies: policies.map(policyOf),
      store: this.#store,
    })
  }

  newKey(limiters: readonly RateLimiter[] = this.limiters): Key {
    return new Key(this, limiters, `k${this.keys++}`)
  }

  /** A key on which these steps were played. */
  async played(steps: readonly Step[], limiters?: readonly RateLimiter[]): Promise<Key> {
    const key = this.newKey(limiters)
    for (const step of steps) await key.act(step)
    return key
  }
}

type Ask = Pick<Step, 'at' | 'plan' | 'cost'>

class Key {
  readonly #rig: Rig
  readonly #limiters: readonly RateLimiter[]
  readonly id: string
  #open: { reservation: Reservation; n: number; plan: number; cost: number }[] = []
  #steps = 0

  constructor(rig: Rig, limiters: readonly RateLimiter[], id: string) {
    this.#rig = rig
    this.#limiters = limiters
    this.id = id
  }

  get open(): number {
    return this.#open.length
  }

  /** The step that reserved what a settlement settles. */
  reservedBy(which: number): number | undefined {
    return this.#open[this.#place(which)]?.n
  }

  #place(which: number): number {
    const { length } = this.#open
    return length === 0 ? 0 : length - 1 - (which % length)
  }

  async act({ at, verb, plan, cost, which, duration }: Step): Promise<Decision | undefined> {
    const limiter = this.#limiters[plan] as RateLimiter
    this.#rig.time = at
    this.#rig.calls++
    const n = this.#steps++
    if (verb === 'reserve') {
      const reservation = await limiter.reserve(this.id, { cost, maxWait: inText(duration) })
      if (reservation.allowed) this.#open.push({ reservation, n, plan, cost })
      return reservation.decision
    }
    if (verb === 'settle') {
      await this.#open.splice(this.#place(which), 1)[0]?.reservation.settle(cost)
      return undefined
    }
    if (verb === 'reset') return void (await limiter.reset(this.id))
    if (verb === 'unban') return void (await limiter.unban(this.id))
    if (verb === 'ban') return void (await limiter.ban(this.id, inText(duration)))
    return limiter[verb](this.id, { cost })
  }

  consume(ask: Ask): Promise<Decision> {
    return this.act({ ...ask, verb: 'consume', which: 0, duration: 0 }) as Promise<Decision>
  }

  peek(ask: Ask): Promise<Decision> {
    return this.act({ ...ask, verb: 'peek', which: 0, duration: 0 }) as Promise<Decision>
  }
}

/** A script as it was played on one key. */
interface Script {
  readonly rig: Rig
  readonly steps: readonly Step[]
  readonly answers: readonly (Decision | undefined)[]
  /** The answers that the laws are asked about. */
  readonly moments: readonly number[]
  /** Of the calls that follow. */
  readonly seed: number
}

class LawBroken extends Error {}

function holds(condition: boolean, law: string, ...seen: readonly unknown[]): void {
  if (!condition) throw new LawBroken(`${law}: ${seen.map((each) => JSON.stringify(each, infinite)).join('; ')}`)
}

const infinite = (_: string, value: unknown) => (value === Infinity ? 'Infinity' : value)

const counts = (world: World) =>
  world.plans.some(({ penalty, policies }) => penalty || policies.some((each) => each.countRefused))
const has = (world: World, ...kinds: readonly Numbers['make'][]) =>
  world.plans.some(({ policies }) => policies.some(({ make }) => kinds.includes(make)))

/** 2. Wait `retryAfter` and the call is admitted; wait 1 ms less and it is refused. */
async function waitsAreTight({ rig, steps, answers, moments }: Script): Promise<void> {
  for (const n of moments) {
    const [step, answer] = [steps[n] as Step, answers[n]]
    if (!answer || (step.verb !== 'consume' && step.verb !== 'reserve')) continue
    const { allowed, retryAfter } = answer
    const ever = step.cost <= capacityOf(rig.world.plans[step.plan] as Plan)
    if (allowed) {
      holds(retryAfter === 0, '2. an admitted call waits for nothing', answer)
      continue
    }
    holds(retryAfter > 0 && retryAfter < Infinity === ever, '2. a wait is endless if the cost can never fit', n, answer)
    if (!ever) continue
    const until = { ...step, at: step.at + retryAfter * 1000 }
    const late = await (await rig.played(steps.slice(0, n + 1))).consume(until)
    holds(late.allowed, `2. step ${n} was told to wait ${retryAfter} ms, and is refused then`, answer, late)
    const early = await (await rig.played(steps.slice(0, n + 1))).consume({ ...until, at: until.at - 1000 })
    holds(!early.allowed, `2. step ${n} was told to wait ${retryAfter} ms, and is admitted 1 ms sooner`, answer, early)
  }
}

/** 3. A refusal changes nothing, and neither does a peek. */
async function refusalsChangeNothing({ rig, steps, answers }: Script): Promise<void> {
  const nothing = (n: number) => {
    const { verb } = steps[n] as Step
    if (verb === 'peek') return true
    const refused = (verb === 'consume' || verb === 'reserve') && answers[n]?.allowed === false
    return refused && (!counts(rig.world) || answers[n]?.ban !== undefined)
  }
  const key = rig.newKey()
  for (const [n, step] of steps.entries()) {
    if (nothing(n)) continue
    const answer = await key.act(step)
    holds(
      isDeepStrictEqual(answer, answers[n]),
      `3. step ${n} is answered otherwise without the refusals before`,
      answers[n],
      answer,
    )
  }
}

/** 4. A cost of `remaining` is admitted, and one unit more is refused, under every plan. */
async function remainingIsTrue({ rig, steps, moments }: Script): Promise<void> {
  const last = moments.at(-1) as number
  const { at } = steps[last] as Step
  const key = await rig.played(steps.slice(0, last + 1))
  for (let plan = 0; plan < rig.world.plans.length; plan++) {
    const one = await key.peek({ at, plan, cost: 1 })
    const { remaining } = one
    const more = await key.peek({ at, plan, cost: remaining + 1 })
    holds(
      !more.allowed,
      `4. plan ${plan} has ${remaining} left after step ${last}, and would admit one more`,
      one,
      more,
    )
    if (remaining === 0) continue
    const all = await (await rig.played(steps.slice(0, last + 1))).consume({ at, plan, cost: remaining })
    holds(
      all.allowed && all.remaining === 0,
      `4. plan ${plan} has ${remaining} left after step ${last}, and does not admit them`,
      one,
      all,
    )
  }
}

/** The names of all that a plan limits by. */
const namesOf = ({ policies, penalty }: Plan) => [...policies.map(({ name }) => name), ...(penalty ? ['penalty'] : [])]

/** 5. After `resetAfter`, and not sooner, the key cannot be told from a new one, under every plan with no other policies. */
async function resetsAreTrue({ rig, steps, answers, moments, seed }: Script): Promise<void> {
  const { plans } = rig.world
  for (const n of moments) {
    const [step, answer] = [steps[n] as Step, answers[n]]
    if (!answer || !Number.isFinite(answer.resetAfter)) continue
    const own = namesOf(plans[step.plan] as Plan)
    const asked = [...plans.keys()].filter((plan) => namesOf(plans[plan] as Plan).every((name) => own.includes(name)))
    const at = step.at + answer.resetAfter * 1000
    const key = await rig.played(steps.slice(0, n + 1))
    if (answer.resetAfter > 0) {
      const early = await (await rig.played(steps.slice(0, n + 1))).peek({ at: at - 1000, plan: step.plan, cost: 1 })
      holds(
        early.resetAfter === 1,
        `5. step ${n} has its full quota in ${answer.resetAfter} ms, and 1 ms sooner another time`,
        answer,
        early,
      )
    }
    await likeNew(rig, key, at, asked, seed + n, `5. ${answer.resetAfter} ms after step ${n}`)
  }
}

/** The same random calls on a key and on a new one. */
async function likeNew(
  rig: Rig,
  key: Key,
  from: number,
  plans: readonly number[],
  seed: number,
  when: string,
): Promise<void> {
  const fresh = rig.newKey()
  await same(rig, key, fresh, from, plans, seed, `${when} the key is not like a new one`)
}

async function same(
  rig: Rig,
  key: Key,
  other: Key,
  from: number,
  plans: readonly number[],
  seed: number,
  what: string,
): Promise<void> {
  const random = randomOf(seed)
  let at = from
  for (const plan of plans) {
    const [one, two] = [await key.peek({ at, plan, cost: 1 }), await other.peek({ at, plan, cost: 1 })]
    holds(isDeepStrictEqual(one, two), `${what}: a peek under plan ${plan}`, one, two)
  }
  for (let n = 0; n < 5; n++) {
    const plan = plans[random(plans.length)] as number
    const capacity = capacityOf(rig.world.plans[plan] as Plan)
    const ask = { at, plan, cost: 1 + random(capacity + 1) }
    const [one, two] = [await key.consume(ask), await other.consume(ask)]
    holds(
      isDeepStrictEqual(one, two),
      `${what}: ${(at - from) / 1000} ms later, consume ${ask.cost} under plan ${plan}`,
      one,
      two,
    )
    at += random(2) === 0 ? 0 : random(2 * 1000 * (rig.world.plans[plan] as Plan).policies[0]!.window)
  }
}

/** 8. Consume and refund at once leave the key as it was. A refund of everything leaves it like new. */
async function refundsGiveBack({ rig, steps, answers, moments, seed }: Script): Promise<void> {
  const { world } = rig
  if (counts(world) || has(world, 'concurrency')) return
  const n = moments.at(-1) as number
  const { plan, verb, at, cost } = steps[n] as Step
  const all = [...world.plans.keys()]
  const full = await rig.played(steps.slice(0, n + 1))
  const { ban } = (await full.act({ at, verb: 'refund', plan, cost: 2 ** 52, which: 0, duration: 0 })) as Decision
  if (ban) return
  await likeNew(rig, full, at, all, seed, `8. after step ${n} and a refund of everything under plan ${plan}`)
  if (verb !== 'consume' || answers[n]?.allowed !== true) return // so that the key has the numbers of this plan
  const [key, untouched] = [await rig.played(steps.slice(0, n + 1)), await rig.played(steps.slice(0, n + 1))]
  if ((await key.consume({ at, plan, cost })).allowed)
    await key.act({ at, verb: 'refund', plan, cost, which: 0, duration: 0 })
  await same(rig, key, untouched, at, all, seed, `8. after step ${n}, consume ${cost} and refund it under plan ${plan}`)
}

/** 10. Settled in any order, amid refunds and charges, the state is as if each call had cost its actual units from the start. */
async function settlementsAreExact({ rig, steps, seed }: Script): Promise<void> {
  const { world } = rig
  // Where calls open a window, it stays open if they are settled to nothing: play.ts has the times.
  if (counts(world) || has(world, 'concurrency', 'interval', 'ownWindow')) return
  // docs/algorithms.md: these do not know the order of calls within a window, so with a refund amid they may be stricter. A log does
  // not know the order within a microsecond.
  const unordered = has(world, 'slidingWindow', 'segmentedWindow')
  let refunded = false
  const sameTime = (step: Step) => steps.some((other) => other !== step && other.at === step.at)
  const key = rig.newKey()
  const played: Step[] = []
  /** The units that a step costs in the end. */
  const due: number[] = []
  async function play(step: Step): Promise<void> {
    const n = played.push(step) - 1
    const reserved = step.verb === 'settle' ? key.reservedBy(step.which) : undefined
    const answer = await key.act(step)
    const charges = step.verb === 'charge' || (step.verb !== 'peek' && step.verb !== 'settle' && answer?.allowed)
    due[n] = charges ? step.cost : 0
    if (reserved === undefined) return
    const estimate = (played[reserved] as Step).cost
    due[reserved] = Math.min(estimate, step.cost)
    due[n] = Math.max(0, step.cost - estimate)
  }
  for (const step of steps) {
    const { verb } = step
    if (verb === 'reset' || verb === 'ban' || verb === 'unban' || (verb === 'settle' && key.open === 0)) continue
    if (verb === 'refund' && has(world, 'slidingLog') && sameTime(step)) continue
    if (verb === 'refund' && unordered && key.open > 0) {
      if (seed % 2 === 0) continue
      refunded = true
    }
    await play({ ...step, plan: 0, duration: 0 })
  }
  const at = steps.at(-1)?.at ?? start
  while (key.open > 0) {
    await play({ at, verb: 'settle', plan: 0, cost: played.length % 3, which: played.length, duration: 0 })
  }
  const plain = rig.newKey()
  for (const [n, step] of played.entries()) {
    if (step.verb === 'refund') await plain.act(step)
    else if (due[n]) await plain.act({ ...step, verb: 'charge', cost: due[n] })
  }
  const told = played.map(
    ({ verb, cost }, n) => `${verb} ${cost}${verb === 'reserve' ? ` (in the end ${due[n]})` : ''}`,
  )
  const what = `10. settled under plan 0 (${told.join(', ')}), not as if each call had cost its actual units`
  if (!refunded) return same(rig, key, plain, at, [0], seed, what)
  for (const later of leaving(played, world.plans[0] as Plan, at)) {
    const ask = { at: later, plan: 0, cost: 1 }
    const [settled, exact] = [await key.peek(ask), await plain.peek(ask)]
    holds(settled.remaining <= exact.remaining, `${what}, ${(later - at) / 1000} ms later`, settled, exact)
  }
}

/** That time, and the times when units leave a window after it. */
function leaving(steps: readonly Step[], { policies }: Plan, from: number): readonly number[] {
  const taking = steps.filter(({ verb }) => verb === 'consume' || verb === 'reserve' || verb === 'charge')
  const times = taking.flatMap(({ at }) => policies.map(({ window }) => at + window * 1000))
  return [from, ...new Set(times.filter((time) => time > from))].sort((a, b) => a - b)
}

/** 11. What is admitted under plans by turns, the largest plan alone admits too. */
async function largestPlanAdmits({ rig, steps }: Script): Promise<void> {
  const { family, plans, onChange } = rig.world
  if (family !== 'alike' || counts(rig.world) || has(rig.world, 'interval')) return
  const largest = (plans[0] as Plan).policies.map((numbers, n) => {
    const column = plans.map(({ policies }) => policies[n] as Numbers)
    return {
      ...numbers,
      limit: Math.max(...column.map(({ limit }) => limit)),
      burst: Math.max(...column.map(({ burst }) => burst)),
    }
  })
  const limiter = rig.alone(largest)
  const [key, alone] = [rig.newKey(), rig.newKey(plans.map(() => limiter))]
  const debtMovesWindows = has(rig.world, 'ownWindow')
  for (const [n, step] of steps.entries()) {
    const { verb } = step
    if (verb === 'refund' && onChange === 'scale') continue // gives back a part of another limit
    if ((verb === 'charge' || verb === 'settle') && debtMovesWindows) continue
    const answer = await key.act(step)
    const takes = verb === 'consume' || verb === 'reserve'
    if (verb === 'peek' || verb === 'ban' || verb === 'unban' || (takes && !answer?.allowed)) continue
    const due = await alone.act(step)
    if (takes)
      holds(due?.allowed === true, `11. step ${n} is admitted, and the largest plan alone refuses it`, answer, due)
  }
  const last = steps.at(-1)?.at ?? start
  for (const at of leaving(steps, { policies: largest }, last)) {
    const most = (await alone.peek({ at, plan: 0, cost: 1 })).remaining
    for (const plan of plans.keys()) {
      const { remaining } = await key.peek({ at, plan, cost: 1 })
      holds(
        remaining <= most,
        `11. plan ${plan} has ${remaining} left ${(at - last) / 1000} ms after the last step, and the largest plan alone ${most}`,
      )
    }
  }
}

/** 11. The promise of any window holds for the largest limit and the shortest window. */
async function windowsHold({ rig, steps, answers }: Script): Promise<void> {
  const { family, plans } = rig.world
  if (family !== 'hard' && family !== 'buckets') return
  if (steps.some(({ verb }) => verb === 'refund' || verb === 'settle' || verb === 'reset')) return
  const admitted = steps.filter(({ verb }, n) => verb === 'charge' || (answers[n]?.allowed && verb !== 'peek'))
  if (admitted.some(({ verb, duration }) => verb === 'charge' || duration > 0)) return
  for (let n = 0; n < (plans[0] as Plan).policies.length; n++) {
    const column = plans.map(({ policies }) => policies[n] as Numbers)
    const most = BigInt(Math.max(...column.map(burstOf)))
    const shortest = Math.min(...column.map(({ window }) => window)) * 1000
    for (let from = 0; from < admitted.length; from++) {
      let sum = 0n
      for (let to = from; to < admitted.length; to++) {
        const span = BigInt((admitted[to] as Step).at - (admitted[from] as Step).at)
        sum += BigInt((admitted[to] as Step).cost)
        if (family === 'hard' && span >= BigInt(shortest)) break
        // The fastest bucket drains limit / window of its units.
        const due =
          family === 'hard'
            ? most
            : column.reduce(
                (bound, { limit, window }) => max(bound, (BigInt(limit) * span) / BigInt(window * 1000)),
                0n,
              ) + most
        holds(sum <= due, `11. ${sum} units within ${span} us, at most ${due}`, admitted[from], admitted[to])
      }
    }
  }
}

const max = (a: bigint, b: bigint) => (a > b ? a : b)

const laws = [
  waitsAreTight,
  refusalsChangeNothing,
  remainingIsTrue,
  resetsAreTrue,
  refundsGiveBack,
  settlementsAreExact,
  largestPlanAdmits,
  windowsHold,
]

let rigs = 0

async function check(rig: Rig, steps: readonly Step[], seed: number, most: number): Promise<void> {
  const key = rig.newKey()
  const answers: (Decision | undefined)[] = []
  for (const step of steps) answers.push(await key.act(step))
  const moments = [...answers.keys()].slice(-most)
  for (const law of laws) await law({ rig, steps, answers, moments, seed })
}

/** A script of random calls: each may wait for what the call before was told. */
async function randomScript(rig: Rig, random: Random): Promise<Step[]> {
  const key = rig.newKey()
  const steps: Step[] = []
  let last = { retryAfter: 0, resetAfter: 0 }
  let now = start + random(1_000_000_000)
  for (let n = 3 + random(10); n > 0; n--) {
    const step = randomStep(random, rig.world, steps, now, last)
    last = (await key.act(step)) ?? last
    now = step.at
    steps.push(step)
  }
  return steps
}

/** The shortest script, and the fewest plans, that break a law still. */
async function shrink(
  world: World,
  steps: readonly Step[],
  fails: (world: World, steps: readonly Step[]) => Promise<boolean>,
): Promise<[World, readonly Step[]]> {
  for (let n = steps.length - 1; n >= 0 && steps.length > 1; n--) {
    const fewer = steps.filter((_, other) => other !== n)
    if (await fails(world, fewer)) return shrink(world, fewer, fails)
  }
  const [first] = world.plans as readonly [Plan]
  for (const { name } of first.policies.length > 1 ? first.policies : []) {
    const less = {
      ...world,
      plans: world.plans.map((plan) => ({ ...plan, policies: plan.policies.filter((each) => each.name !== name) })),
    }
    if (await fails(less, steps)) return shrink(less, steps, fails)
  }
  for (const [n, { penalty, policies }] of world.plans.entries()) {
    const less = { ...world, plans: world.plans.map((plan, other) => (other === n ? { policies } : plan)) }
    if (penalty && (await fails(less, steps))) return shrink(less, steps, fails)
  }
  return [world, steps]
}

export interface Play {
  readonly create: CreateStore
  readonly kind: WorldKind
  /** How many answers of each script the laws are asked about. */
  readonly moments?: number
  /** A world takes longer to make than a script to play. */
  readonly scripts?: number
}

/**
 * Plays random scripts on one random world. A broken law is thrown with the shortest script that breaks it.
 * @returns how many calls were made
 */
export async function playWorld(
  { create, kind, moments = Infinity, scripts = 10 }: Play,
  random: Random,
): Promise<number> {
  const rigOf = (world: World) => new Rig(world, create, `laws-${rigs++}`)
  const rig = rigOf(randomWorld(random, kind))
  for (let script = 0; script < scripts; script++) {
    const seed = random(2 ** 31)
    const steps = await randomScript(rig, random)
    const broken = await brokenBy(check(rig, steps, seed, moments))
    if (broken === undefined) continue
    const law = (message: string) => message.slice(0, 3)
    let last = broken
    const [world, fewest] = await shrink(rig.world, steps, async (less, fewer) => {
      const other = await brokenBy(check(rigOf(less), fewer, seed, moments))
      if (other === undefined || law(other) !== law(broken)) return false
      last = other
      return true
    })
    throw new Error(`law ${last}\n${programOf(world, fewest, fewest[0]?.at ?? start)}`)
  }
  return rig.calls
}

async function brokenBy(checking: Promise<void>): Promise<string | undefined> {
  try {
    await checking
    return undefined
  } catch (error) {
    if (error instanceof LawBroken) return error.message
    throw error
  }
}

/** Plays worlds until so many calls were made. A broken law is thrown with the seed that plays it again. */
export async function playWorlds(play: Play, calls: number, seed: number): Promise<void> {
  for (let n = 0, made = 0; made < calls; n++) {
    const own = (seed + n * 2_654_435_761) % 2 ** 31
    try {
      made += await playWorld(play, randomOf(own))
    } catch (error) {
      throw new Error(`seed ${own}: ${(error as Error).message}`, { cause: error })
    }
  }
}
