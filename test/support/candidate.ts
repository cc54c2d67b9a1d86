import { expect, vi } from 'vitest'
import {
  fixedWindow,
  memoryStore,
  RateLimiter,
  type Reservation,
  type Store,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import type { ManualClock } from '../../src/testing/index.ts'
import { type Random, randomOf } from './seeded-random.ts'

const current = [
  fixedWindow({ name: 'minute', limit: 10, window: '1m' }),
  tokenBucket({ name: 'burst', limit: 6, window: '10s' }),
]
const tried = [
  fixedWindow({ name: 'minute', limit: 9, window: '1m' }),
  slidingWindow({ name: 'hour', limit: 60, window: '1h' }),
]
const penalty = { after: 4, within: '30s', ban: '20s' }

/** A cost of the current policies, and what it takes from the candidate. */
function randomCost(random: Random) {
  const units = 1 + random(3)
  if (random(2) === 0) return { cost: units, costTried: units }
  return { cost: { minute: units, burst: 1 }, costTried: { minute: units, hour: 1 } }
}

/**
 * Plays random calls on a limiter with a candidate. The limiter decides as one without a candidate does. The candidate has the states of a limiter
 * with its policies that got the same calls.
 * @returns the health of the candidate, and what it should be
 */
export async function playCandidate(store: Store, clock: ManualClock, seed: number, calls: number) {
  const random = randomOf(seed)
  const own = () => memoryStore({ clock: clock.now })
  const limiter = new RateLimiter({
    name: 'api',
    policies: current,
    penalty,
    candidate: tried,
    store,
    storeTimeout: '10s',
  })
  const alone = new RateLimiter({ name: 'api', policies: current, penalty, store: own() })
  const other = new RateLimiter({ name: 'api', policies: tried, penalty, store: own() })
  const open: Reservation[][] = []
  const counts = { compared: 0, newlyRefused: 0, noLongerRefused: 0, undecided: 0 }
  const compare = (now: boolean, then: boolean) => {
    counts.compared++
    if (now && !then) counts.newlyRefused++
    if (!now && then) counts.noLongerRefused++
  }
  for (let call = 0; call < calls; call++) {
    clock.advance(random(1500))
    const key = ['ann', 'bob', 'eve'][random(3)] as string
    const { cost, costTried } = randomCost(random)
    const what = random(100)
    if (what < 50) {
      const decision = await limiter.consume(key, { cost })
      expect(decision).toEqual(await alone.consume(key, { cost }))
      compare(decision.allowed, (await other.consume(key, { cost: costTried })).allowed)
    } else if (what < 65) {
      const three = [
        await limiter.reserve(key, { cost }),
        await alone.reserve(key, { cost }),
        await other.reserve(key, { cost: costTried }),
      ]
      expect(three[0]?.decision).toEqual(three[1]?.decision)
      compare(three[0]?.allowed === true, three[2]?.allowed === true)
      open.push(three)
    } else if (what < 80 && open.length > 0) {
      const [reservation, same, candidate] = open.splice(random(open.length), 1)[0] as Reservation[]
      const minute = random(4)
      await reservation?.settle({ minute, burst: 1 })
      await same?.settle({ minute, burst: 1 })
      if (reservation?.allowed) await candidate?.settle({ minute })
    } else if (what < 85) {
      await limiter.charge(key, { cost })
      await alone.charge(key, { cost })
      await other.charge(key, { cost: costTried })
    } else if (what < 90) {
      await limiter.refund(key, { cost })
      await alone.refund(key, { cost })
      await other.refund(key, { cost: costTried })
    } else if (what < 94) await Promise.all([limiter, alone, other].map((each) => each.reset(key)))
    else if (what < 97) await Promise.all([limiter, alone, other].map((each) => each.ban(key, '5s')))
    else await Promise.all([limiter, alone, other].map((each) => each.unban(key)))
    // The candidate's command may end later.
    await vi.waitFor(async () => {
      expect(await limiter.candidate?.peek(key)).toEqual(await other.peek(key))
      expect(limiter.health().candidate).toEqual(counts)
    }, 5000)
  }
  limiter.close()
  return counts
}
