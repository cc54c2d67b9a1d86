import { describe, expect, test } from 'vitest'
import { withLimit } from '../../src/algorithms/define-policy.ts'
import type { Smooth } from '../../src/algorithms/smooth.ts'
import { Evaluation, memoryStore, type Policy, RateLimiter, smoothBursty, smoothWarmingUp } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { kept, type Line, policyOf, refusedConfigs, scripts } from '../support/guava.ts'

/** One limiter on one state, by the frame that every store uses. */
class Replay {
  readonly state = new Float64Array(7)
  #policy: Policy
  #step: Evaluation
  now: number
  readonly #sleepAdvances: boolean
  count = 0

  constructor(config: Line) {
    this.#policy = policyOf(config)
    this.now = Number(config.startUs)
    this.#sleepAdvances = config.sleepAdvances === true
    this.#step = this.#bind()
    this.#algorithm.take(this.state, 0, this.now, 0) // Guava's limiter begins when it is made
  }

  get #algorithm(): Smooth {
    return this.#policy.algorithm as Smooth
  }

  #bind(): Evaluation {
    const step = new Evaluation([this.#policy])
    Object.assign(step.policies[0] as object, { s: this.state, i: 0 })
    return step
  }

  seen(): Line {
    return { now: this.now, stored: this.state[2] as number, free: this.state[1] as number }
  }

  terms(): Line {
    return { max: this.#algorithm.max, stableUs: this.#algorithm.stable }
  }

  /** What Guava throws for is a cost that limiters refuse before any arithmetic. */
  reserve({ n, throws }: Line, maxWait: number): number | undefined {
    if (throws !== undefined) return undefined
    this.#step.evaluate('reserve', this.now, Number(n), maxWait)
    this.#step.commit('store')
    if (!this.#step.allowed) return undefined
    if (this.#sleepAdvances) this.now += this.#step.delay
    return this.#step.delay
  }

  setRate(rate: number): void {
    const next = withLimit(this.#policy, rate)
    next.algorithm.adopt?.(this.state, 0, this.now, this.#algorithm)
    this.#policy = next
    this.#step = this.#bind()
  }

  /** What was observed, in the order of the recording. */
  answer(line: Line): Line | undefined {
    const { op, n, us, rate, throws } = line
    if (op === 'advance') {
      this.now += Number(us)
      return { op, us: us as number, now: this.now }
    }
    if (op === 'getRate') return { op, rate: 1e6 / this.#algorithm.stable }
    if (op === 'toString') return undefined
    const failed = throws === undefined ? {} : { throws }
    if (op === 'setRate') {
      if (throws !== undefined) expect(() => this.setRate(Number(rate))).toThrow('rate must be a positive')
      else this.setRate(Number(rate))
      return { op, rate: rate as number, ...failed, ...this.seen(), ...this.terms() }
    }
    const micros = line.timeoutNs === undefined ? Number(line.timeoutUs) : Math.trunc(Number(line.timeoutNs) / 1000)
    const waitUs = this.reserve(line, op === 'acquire' ? Infinity : Math.max(0, micros))
    const slept = waitUs === undefined ? {} : { waitUs }
    if (op === 'acquire') {
      const seconds = waitUs === undefined ? {} : { waitS: waitUs / 1e6 }
      return { op, n: n as number, ...failed, ...slept, ...seconds, ...this.seen() }
    }
    const { timeoutUs, timeoutNs } = line
    const timeout = timeoutNs === undefined ? { timeoutUs: timeoutUs as number } : { timeoutNs }
    const ok = throws === undefined ? { ok: waitUs !== undefined } : {}
    return { op: op as string, n: n as number, ...timeout, ...failed, ...ok, ...slept, ...this.seen() }
  }
}

let replayed = 0

describe('Guava, bit for bit', () => {
  test.each(kept.map((script) => [script.config.id, script] as const))('%s', (_, { config, operations }) => {
    const replay = new Replay(config)
    expect({ ...replay.terms(), stored: replay.state[2], free: replay.state[1] }).toEqual(config.init)
    for (const line of operations) {
      if (line.op === 'setRate' && (line.rate === 'Infinity' || line.rate === 4.9e-324) && line.throws === undefined) {
        expect(() => replay.setRate(Number(line.rate))).toThrow(/rate/)
        return
      }
      const answer = replay.answer(line)
      if (answer !== undefined) expect(answer).toEqual(line)
      replayed++
    }
  })

  test('all but what is listed above were replayed', () => {
    expect(scripts.length).toBe(135)
    expect(replayed).toBe(7043 - 12 - 8 - 20 - 17 - 7 - 10 - 2)
  })

  test.each(refusedConfigs)('%s is refused when it is made', (id) => {
    const config = scripts.find((script) => script.config.id === id)?.config as Line
    if (id === 'gb-0126') return expect(() => new Replay(config).setRate(1e-300)).toThrow(/rate/)
    expect(() => policyOf(config)).toThrow(/must be/)
  })
})

/* What Guava has not: giving back. */
describe('given back', () => {
  const clock = new ManualClock()
  const limiterOf = (policies: Policy) => new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })

  test.each([0.3, 1, 3])('more than was taken, coldFactor %s: nobody waits longer for it', async (coldFactor) => {
    const limiter = limiterOf(smoothWarmingUp({ rate: 1, warmup: '10s', coldFactor }))
    await limiter.charge('id', 1)
    await limiter.charge('id', 1)
    const { retryAfter } = await limiter.peek('id')
    await limiter.refund('id', 1)
    await limiter.refund('id', 1000)
    expect((await limiter.peek('id')).retryAfter).toBeLessThanOrEqual(retryAfter)
  })

  test('a call that is refused while the clock is a little behind leaves the last one what it was', async () => {
    const late = new ManualClock(1000)
    let behind = 0
    const store = memoryStore({ clock: () => late.now() - behind })
    const limiter = new RateLimiter({ policies: smoothBursty({ rate: 1 }), store })
    const reservation = await limiter.reserve('id', { cost: 5 })
    behind = 1000
    expect((await limiter.consume('id')).allowed).toBe(false)
    await reservation.cancel()
    behind = 0
    expect((await limiter.consume('id')).allowed).toBe(true)
  })
})
