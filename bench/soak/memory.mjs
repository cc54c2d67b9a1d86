/*
 * Memory store against the oracle: random keys, costs, policies and jumps of the clock. Every decision must equal the
 * oracle's. In one scenario new keys keep coming and time moves forward, sometimes far. In the other the keys stay the same
 * while the clock jumps both ways.
 */
import { setImmediate } from 'node:timers/promises'
import { memoryStore, RateLimiter } from 'headgate'
import { ManualClock } from 'headgate/testing'
import { Joined, oracles } from './oracle.mjs'

const policies = [
  [['sliding-log', 7, 1000]],
  [['token-bucket', 13, 3000]],
  [['gcra', 9, 700]],
  [['fixed-window', 11, 2000]],
  [
    ['leaky-bucket', 5, 250],
    ['sliding-log', 30, 10_000],
    ['fixed-window', 17, 5000],
  ],
]
/** How many calls run before the other parts continue. */
const slice = 200
/** The oracle forgets keys that no longer count when it knows more than this. So its memory stays flat too. */
const crowd = 5000
/** The clock goes back by at most this many milliseconds. */
const furthest = 99_999
/** In microseconds. A store may forget a key that has had its full quota and no call for so long, even if the clock then goes back. */
const grace = 10_000_000n

class Scenario {
  constructor(terms, random, jumps) {
    this.random = random
    this.jumps = jumps
    this.terms = terms
    this.clock = new ManualClock()
    this.limiter = new RateLimiter({
      policies: terms.map(([name, limit, window]) => `${limit}/${window}ms ${name}`),
      store: memoryStore({ maxKeys: 20_000, clock: this.clock.now }),
    })
    this.oracle = new Map()
    this.latest = this.clock.milliseconds
    this.newest = 0
    if (jumps) for (let n = 0; n < 500; n++) this.of(`${n}`)
  }

  of(key) {
    let found = this.oracle.get(key)
    if (found === undefined) {
      found = new Joined(this.terms.map(([name, limit, window]) => oracles[name](limit, window)))
      this.oracle.set(key, found)
    }
    return found
  }

  move() {
    const { random, clock } = this
    this.latest = Math.max(this.latest, clock.milliseconds)
    const odds = random.next()
    if (odds < 0.6) return
    if (odds < 0.97) clock.set(clock.milliseconds + random.below(8000) / 1000)
    else if (!this.jumps || odds < 0.98) clock.set(clock.milliseconds + random.pick([50, 1000, 2000, 3_600_000]))
    else {
      const back = clock.milliseconds - random.pick([0.001, 5, 300, 999, 5000, 59_999, 60_000, furthest])
      clock.set(Math.max(back, this.latest - furthest))
    }
  }

  /** One of the newest thousand keys, or of the fixed keys. Some are more frequent than others. */
  key() {
    const { random } = this
    if (this.jumps) return `${random.below(random.pick([5, 50, 500]))}`
    if (random.chance(0.2)) this.newest++
    return `${this.newest - random.below(random.pick([5, 50, 1000]))}`
  }

  async step(counts) {
    const { random, clock, limiter } = this
    this.move()
    const key = this.key()
    const cost = random.pick([1, 1, 1, 2, 5])
    const forgettable = this.mayForget(key)
    let expected = this.of(key).consume(clock.now(), cost)
    const reserves = !this.jumps && random.chance(0.02)
    const reservation = reserves ? await limiter.reserve(key, { cost }) : undefined
    const { allowed, remaining } = reservation?.decision ?? limiter.consumeSync(key, { cost })
    const agree = () => allowed === expected.allowed && remaining === expected.remaining
    if (forgettable && !agree()) {
      this.oracle.delete(key)
      expected = this.of(key).consume(clock.now(), cost)
      counts.forgotten++
    }
    if (!agree()) {
      const [result, oracle] = [{ allowed, remaining }, expected].map((each) => JSON.stringify(each))
      throw new Error(`${this.terms} at ${clock.milliseconds}, key ${key}: ${result}, the oracle ${oracle}`)
    }
    if (allowed) counts.admitted++
    else counts.refused++
    if (reservation === undefined || !allowed) return
    await reservation.cancel()
    this.of(key).undo(cost)
    counts.cancelled++
  }

  /** True if the key has had its full quota for so long that the store may have forgotten it, although the clock has gone back since. */
  mayForget(key) {
    return this.jumps && this.of(key).likeNewAt(BigInt(Math.round(this.latest * 1000)), grace)
  }

  prune() {
    if (this.oracle.size < crowd) return
    for (const [key, oracle] of this.oracle) if (oracle.lapsed(this.clock.now())) this.oracle.delete(key)
  }
}

export async function memory({ until, random }) {
  const counts = { admitted: 0, refused: 0, cancelled: 0, forgotten: 0, keys: 0 }
  const scenarios = policies.flatMap((terms) => [new Scenario(terms, random, false), new Scenario(terms, random, true)])
  while (performance.now() < until) {
    for (const scenario of scenarios) {
      for (let n = 0; n < slice; n++) await scenario.step(counts)
      scenario.prune()
      await setImmediate()
    }
  }
  for (const { newest, jumps } of scenarios) counts.keys += jumps ? 500 : newest
  return counts
}
