/**
 * A call with a list of costs takes and tells what calls with each cost in turn would, until one is admitted: if nobody comes between
 * them, under every algorithm, with several plans on one key, with clocks that go back.
 */
import { expect, test } from 'vitest'
import { lruStore, memoryStore, type Policy, RateLimiter, type Store } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { samples } from '../../src/testing/sample-policies.ts'
import { day, rounds } from '../support/depth.ts'
import { randomOf } from '../support/seeded-random.ts'

const names = Object.keys(samples)

/** Two plans with other limits for the same two policies: states are converted from one to the other. */
function plansOf(random: (end: number) => number): readonly (readonly Policy[])[] {
  const kinds = [0, 1].map(() => names[random(names.length)] as string)
  return [0, 1].map(() =>
    kinds.map((kind, n) => {
      const shadow = random(12) === 0
      return (samples[kind as keyof typeof samples] as (typeof samples)['gcra'])({
        name: ['own', 'pool'][n] as string,
        scope: ['org', 'pool'][n] as string,
        limit: 3 + random(6),
        window: `${1 + n}s`,
        ...(shadow && { shadow }),
      })
    }),
  )
}

test.each<[string, (clock: () => number) => Store]>([
  ['memoryStore', (clock) => memoryStore({ clock })],
  ['lruStore', (clock) => lruStore({ clock })],
])(
  '%s: a list takes what calls with one cost after the other would take',
  async (_, create) => {
    let byPool = 0
    for (let run = 0; run < rounds(20, 500); run++) {
      const random = randomOf(day * 1000 + run)
      const plans = plansOf(random)
      const clock = new ManualClock()
      const [first, ...others] = plans as [readonly Policy[], ...(readonly Policy[])[]]
      const [listed, single] = [0, 1].map(() => {
        const limiter = new RateLimiter({ name: 'law', policies: first, store: create(clock.now) })
        return [limiter, ...others.map((plan) => limiter.withPlan([...plan]))]
      }) as [RateLimiter[], RateLimiter[]]
      for (let call = 0; call < 120; call++) {
        const plan = random(2)
        const [one, other] = [listed[plan], single[plan]] as [RateLimiter, RateLimiter]
        const key = { org: `o${random(2)}`, pool: 'p' }
        const costs = Array.from({ length: 1 + random(3) }, () => ({ own: random(4), pool: random(4) }))
        const about = `run ${run}, call ${call} of ${plans[plan]?.map(({ algorithm }) => algorithm.kind)}`
        const maxWait = random(3) === 0 ? random(1500) : 0
        const refusals: number[] = []
        let taken: object | undefined
        for (const cost of costs) {
          const made = await other.reserve(key, { cost, maxWait })
          if (made.allowed) {
            taken = { cost, wait: made.wait, verdicts: made.decision.policies }
            break
          }
          refusals.push(made.decision.retryAfter)
        }
        const made = await one.reserve(key, { cost: costs, maxWait })
        const { allowed, wait, decision } = made
        expect(
          decision.tried?.map(({ retryAfter }) => retryAfter),
          about,
        ).toEqual(refusals)
        const cost = costs[refusals.length]
        expect(allowed ? { cost, wait, verdicts: decision.policies } : undefined, about).toEqual(taken)
        if (!allowed) expect(decision.retryAfter, about).toBe(Math.min(...refusals))
        if (allowed && refusals.length > 0) byPool++
        expect(await one.peek(key), about).toEqual(await other.peek(key))
        clock.set(clock.milliseconds + ([0, 0, 1, 100, 333, 900, -1, -300][random(8)] as number))
      }
    }
    expect(byPool).toBeGreaterThan(100)
  },
  300_000,
)
