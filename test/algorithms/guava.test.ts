import { describe, expect, test } from 'vitest'
import { withLimit } from '../../src/algorithms/define-policy.ts'
import { Evaluation } from '../../src/algorithms/evaluation/evaluation.ts'
import type { Smooth } from '../../src/algorithms/smooth/smooth.ts'
import { memoryStore, type Policy, RateLimiter, smoothBursty, smoothWarmingUp } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { policyOf, type Recorded, rejectedConfigs, replayedScripts, scripts } from '../support/guava.ts'

/** One limiter on one state, by the evaluation that every store uses. */
class Replay {
  readonly state = new Float64Array(8)
  #policy: Policy
  #evaluation: Evaluation
  now: number
  readonly #sleepAdvances: boolean
  count = 0

  constructor(config: Recorded) {
    this.#policy = policyOf(config)
    this.now = Number(config.startUs)
    this.#sleepAdvances = config.sleepAdvances === true
    this.#evaluation = this.#bind()
    this.#algorithm.take(this.state, 0, this.now, 0) // a limiter of Guava starts when it is created
  }

  get #algorithm(): Smooth {
    return this.#policy.algorithm as Smooth
  }

  #bind(): Evaluation {
    const evaluation = new Evaluation([this.#policy])
    Object.assign(evaluation.policies[0] as object, { s: this.state, i: 0 })
    return evaluation
  }

  seen(): Recorded {
    return { now: this.now, stored: this.state[2] as number, free: this.state[1] as number }
  }

  terms(): Recorded {
    return { max: this.#algorithm.max, stableUs: this.#algorithm.stable }
  }

  /** Guava throws for costs that a limiter rejects before any arithmetic. */
  reserve({ n, throws }: Recorded, maxWait: number): number | undefined {
    if (throws !== undefined) return undefined
    this.#evaluation.evaluate('reserve', this.now, Number(n), maxWait)
    this.#evaluation.commit('store')
    if (!this.#evaluation.allowed) return undefined
    if (this.#sleepAdvances) this.now += this.#evaluation.delay
    return this.#evaluation.delay
  }

  setRate(rate: number): void {
    const next = withLimit(this.#policy, rate)
    next.algorithm.adopt?.(this.state, 0, this.now, this.#algorithm)
    this.#policy = next
    this.#evaluation = this.#bind()
  }

  /** Replays an operation, and returns what the recording should hold. */
  replay(recorded: Recorded): Recorded | undefined {
    const { op, n, us, rate, throws } = recorded
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
    const micros =
      recorded.timeoutNs === undefined ? Number(recorded.timeoutUs) : Math.trunc(Number(recorded.timeoutNs) / 1000)
    const waitUs = this.reserve(recorded, op === 'acquire' ? Infinity : Math.max(0, micros))
    const slept = waitUs === undefined ? {} : { waitUs }
    if (op === 'acquire') {
      const seconds = waitUs === undefined ? {} : { waitS: waitUs / 1e6 }
      return { op, n: n as number, ...failed, ...slept, ...seconds, ...this.seen() }
    }
    const { timeoutUs, timeoutNs } = recorded
    const timeout = timeoutNs === undefined ? { timeoutUs: timeoutUs as number } : { timeoutNs }
    const ok = throws === undefined ? { ok: waitUs !== undefined } : {}
    return { op: op as string, n: n as number, ...timeout, ...failed, ...ok, ...slept, ...this.seen() }
  }
}

let count = 0

describe('Guava, bit for bit', () => {
  test.each(replayedScripts.map((script) => [script.config.id, script] as const))('%s', (_, { config, operations }) => {
    const replay = new Replay(config)
    expect({ ...replay.terms(), stored: replay.state[2], free: replay.state[1] }).toEqual(config.init)
    for (const recorded of operations) {
      if (
        recorded.op === 'setRate' &&
        (recorded.rate === 'Infinity' || recorded.rate === 4.9e-324) &&
        recorded.throws === undefined
      ) {
        expect(() => replay.setRate(Number(recorded.rate))).toThrow(/rate/)
        return
      }
      const replayed = replay.replay(recorded)
      if (replayed !== undefined) expect(replayed).toEqual(recorded)
      count++
    }
  })

  test('every operation was replayed, except those listed in support/guava.ts', () => {
    expect(scripts.length).toBe(135)
    expect(count).toBe(7043 - 12 - 8 - 20 - 17 - 20 - 20 - 7 - 10 - 2)
  })

  test.each(rejectedConfigs)('%s is rejected when it is created', (id) => {
    const config = scripts.find((script) => script.config.id === id)?.config as Recorded
    if (id === 'gb-0126') return expect(() => new Replay(config).setRate(1e-300)).toThrow(/rate/)
    expect(() => policyOf(config)).toThrow(/must be|at most 1,000,000 units/)
  })
})

/* Guava has no refunds. */
describe('refunds', () => {
  const clock = new ManualClock()
  const limiterOf = (policies: Policy) => new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })

  test.each([0.3, 1, 3])(
    'a refund of more than was taken, with coldFactor %s, makes no call wait longer',
    async (coldFactor) => {
      const limiter = limiterOf(smoothWarmingUp({ rate: 1, warmup: '10s', coldFactor }))
      await limiter.charge('id', { cost: 1 })
      await limiter.charge('id', { cost: 1 })
      const { retryAfter } = await limiter.peek('id')
      await limiter.refund('id', { cost: 1 })
      await limiter.refund('id', { cost: 1000 })
      expect((await limiter.peek('id')).retryAfter).toBeLessThanOrEqual(retryAfter)
    },
  )

  test('a call that is refused while the clock is a little behind leaves the last call refundable', async () => {
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
