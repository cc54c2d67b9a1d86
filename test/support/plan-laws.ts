/** Law 11, what a refusal told comes true under the plan that told it, for any store: `describePlanLaws('memory', createStore)`. */
import { deepStrictEqual as same } from 'node:assert/strict'
import { describe, test } from 'vitest'
import { carryRules } from '../../src/algorithms/carry.ts'
import { withLimit } from '../../src/algorithms/define-policy.ts'
import {
  concurrency,
  type HeadgateError,
  type Policy,
  RateLimiter,
  type Reservation,
  smoothBursty,
} from '../../src/index.ts'
import fc from './fast-check.ts'
import { algorithms } from './promised.ts'
import { type CreateStore, elapsed, start, step, units } from './script.ts'

const key = 'k'
const ms = 1000

const limits = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 1000 }))
const times = fc.integer({ min: 1, max: 5000 })

/** Policies of every kind but penalties. */
const policies: Readonly<Record<string, fc.Arbitrary<Policy>>> = {
  ...Object.fromEntries(
    Object.entries(algorithms).map(([name, promised]) => [
      name,
      promised()
        .map(({ policy }) => policy)
        .filter(isSmall),
    ]),
  ),
  concurrency: fc.tuple(limits, times).map(([limit, lease]) => concurrency({ limit, lease })),
  smoothBursty: fc.tuple(limits, times).map(([rate, maxBurst]) => smoothBursty({ rate, maxBurst })),
}

/** False for a log that is too large for the values of some stores. */
function isSmall({ algorithm, limit }: Policy): boolean {
  return !algorithm.grows || limit <= 10_000
}

/** Any two policies, or two that differ in the limit alone: then the times of used units stay. */
const pairs = fc.oneof(
  fc.tuple(...[0, 1].map(() => fc.oneof(...Object.values(policies)))),
  fc.oneof(...Object.values(policies)).chain((policy) => limits.map((limit) => [policy, relimited(policy, limit)])),
)

/** The policy with another limit. A limit that cannot be exact stays as it is. */
function relimited(policy: Policy, limit: number): Policy {
  const { burst, algorithm } = policy
  if (algorithm.paysLater) return policy
  try {
    return withLimit(policy, limit, burst === policy.limit ? undefined : Math.max(1, Math.floor(limit / 2)))
  } catch {
    return policy
  }
}

const calls = fc.array(
  fc.record({
    step,
    verb: fc.constantFrom('consume', 'consume', 'consume', 'reserve', 'book', 'settle', 'charge', 'refund'),
  }),
  { minLength: 1, maxLength: 10 },
)

/** A bucket near 2^53 ticks cannot count every settlement above its estimate, and says so. */
function tooLarge(error: unknown): void {
  if ((error as Partial<HeadgateError>).code !== 'HEADGATE_INEXACT') throw error
}

/** @param numRuns how many random timelines the law gets by each rule */
export function describePlanLaws(name: string, create: CreateStore, { numRuns }: { numRuns: number }): void {
  let limiters = 0
  describe(`laws of plans on ${name}`, () => {
    test.each(carryRules)(
      '11. what a refusal told comes true under the plan that told it, with the rule %s',
      (rule) =>
        fc.assert(
          fc.asyncProperty(
            fc.record({ pair: pairs, calls, t0: start, after: step, back: fc.nat(3), later: fc.nat(100_000_000) }),
            async ({ pair, calls, t0, after, back, later }) => {
              const [from, to] = pair.map((policy) => ({ ...policy, name: 'p', label: 'p' })) as [Policy, Policy]
              const window = from.window * ms
              let time = t0
              const store = create(() => time)
              const old = new RateLimiter({ name: `plan ${limiters++}`, policies: from, store, onChange: rule })
              const plan = old.withPlan(to)
              const open: Reservation[] = []
              let last = { retryAfter: 0, resetAfter: 0 }
              for (const { step, verb } of calls) {
                time += elapsed(step.after, window, last)
                const cost = units(step.cost, from.burst)
                if (verb === 'settle')
                  await open
                    .pop()
                    ?.settle(Math.floor(cost / 2))
                    .catch(tooLarge)
                else if (verb === 'reserve' || verb === 'book') {
                  open.push(await old.reserve(key, { cost, maxWait: verb === 'book' ? '366d' : 0 }))
                } else last = await old[verb](key, { cost })
              }
              time += elapsed(after.after, Math.min(window, to.window * ms), last)
              if (back === 3) time = Math.max(0, time - later)
              const wanted = Math.min(units(after.cost, Math.min(to.burst, from.burst)), to.burst)
              const { allowed, retryAfter, resetAfter, policies } = await plan.consume(key, { cost: wanted })
              const wait = Math.ceil(retryAfter * ms)
              if (allowed || wait === Infinity) return
              const refused = time
              time = refused + Math.floor((wait - ms) / 2)
              same((await plan.consume(key, { cost: wanted })).allowed, false, 'half of the time')
              time = refused + wait - ms
              same((await plan.consume(key, { cost: wanted })).retryAfter, 1, '1 ms sooner')
              time = refused + wait
              same((await plan.peek(key, { cost: wanted })).allowed, true, 'after retryAfter')
              if (policies[0]?.resetAfter !== resetAfter || pair.some(({ algorithm }) => algorithm.paysLater)) return
              time = refused + resetAfter * ms - ms
              same((await plan.peek(key)).resetAfter, 1, '1 ms before resetAfter')
              time = refused + resetAfter * ms
              const { remaining, resetAfter: left } = await plan.peek(key, { cost: to.burst })
              same([remaining, left], [to.burst, 0], 'after resetAfter')
            },
          ),
          { numRuns },
        ),
      600_000,
    )
  })
}
