/* Limiters that compete for a few keys, and the exact account of what they took. */
import type { Policy } from '../../src/index.ts'
import type { BareLimiter } from './bare-limiter.ts'
import { seededRandom } from './seeded-random.ts'

export interface Race {
  /** Several limiters of one name, each with a store of its own. */
  readonly fleet: readonly BareLimiter[]
  /** One in each scope, with limits that the race cannot reach. */
  readonly policies: readonly Policy[]
  /** How many calls each limiter makes, four of them in flight. */
  readonly calls: number
  readonly seed: number
}

const ids = ['0', '1'] as const
const inFlight = 4

/**
 * Runs the race. Returns the units of the admitted calls, and the units that are used, by policy and key. `failed` is how
 * many calls rejected.
 */
export async function race({ fleet, policies, calls, seed }: Race) {
  const random = seededRandom(seed)
  const admitted: Record<string, number> = Object.fromEntries(
    policies.flatMap(({ name }) => ids.map((id) => [`${name} ${id}`, 0])),
  )
  const add = (name: string, cost: number) => (admitted[name] = (admitted[name] ?? 0) + cost)
  let failed = 0
  async function caller(limiter: BareLimiter) {
    for (let n = 0; n < calls; n += inFlight) {
      const key = Object.fromEntries(policies.map(({ scope }) => [scope, ids[random(ids.length)] as string]))
      const cost = 1 + random(3)
      const decision = await limiter.consume(key, { cost }).catch(() => undefined)
      if (decision === undefined) failed++
      else for (const { name, scope } of policies) add(`${name} ${key[scope]}`, cost)
    }
  }
  await Promise.all(fleet.flatMap((limiter) => Array.from({ length: inFlight }, () => caller(limiter))))
  return { admitted, failed, used: () => usedBy(fleet[0] as BareLimiter, policies) }
}

/** The units used of each policy and key. */
async function usedBy(limiter: BareLimiter, policies: readonly Policy[]): Promise<Record<string, number>> {
  const used: Record<string, number> = {}
  for (const id of ids) {
    const key = Object.fromEntries(policies.map(({ scope }) => [scope, id]))
    for (const { name, limit, remaining } of (await limiter.peek(key)).policies)
      used[`${name} ${id}`] = limit - remaining
  }
  return used
}
