/*
 * Calls that reserve units and settle them in any order, under one policy of each algorithm in two scopes. The windows are
 * so long that time gives nothing back: in the end a key has used exactly what was settled.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { concurrency, fixedWindow, segmentedWindow, slidingLog, slidingWindow, tokenBucket } from 'headgate'

const users = ['u0', 'u1', 'u2']
const teams = ['t0', 't1']
const inFlight = 8

const below = (end) => Math.floor(Math.random() * end)
const oneOf = (list) => list[below(list.length)]

/** @param total how many calls the fleet makes, so many that each policy refuses some of them */
export function settlementPolicies(total, processes) {
  const each = { window: '366d', limit: Math.round(total * 0.6) }
  const user = { ...each, scope: 'user' }
  const team = { ...each, scope: 'team', limit: Math.round(total * 0.9) }
  return [
    tokenBucket({ ...user, name: 'bucket' }),
    tokenBucket({ ...team, name: 'interval', refill: 'interval' }),
    fixedWindow({ ...team, name: 'fixed' }),
    slidingWindow({ ...user, name: 'sliding' }),
    segmentedWindow({ ...team, name: 'segmented' }),
    slidingLog({ ...user, name: 'log', limit: Math.round(total / 40) }),
    concurrency({ scope: 'user', limit: 2 * processes, lease: '1h' }),
  ]
}

/** Of more units than a call takes, a bucket gives back all that it took: docs/algorithms.md says what it can lose below that. */
const base = 20

/** Charges the bucket of each user before the first reservation. */
export async function chargeBase(limiter) {
  const costs = Object.fromEntries(limiter.policies.map(({ name }) => [name, name === 'bucket' ? base : 0]))
  for (const user of users) await limiter.charge({ user, team: 't0' }, { cost: costs })
}

/** Makes the calls. Returns what was settled by policy and key, and how many calls were refused. */
export async function settleCalls(limiter, calls) {
  const settled = Object.fromEntries(users.map((user) => [`bucket ${user}`, base]))
  let left = calls
  let refused = 0
  async function caller() {
    while (left-- > 0) {
      const key = { user: oneOf(users), team: oneOf(teams) }
      const cost = below(8) === 0 ? 1 + below(4) : costs(limiter)
      const reservation = await limiter.reserve(key, { cost })
      if (reservation.allowed) await work(reservation)
      else refused++
      const actual = reservation.allowed ? await settleSomehow(reservation, cost) : 0
      for (const { name, scope } of limiter.policies) {
        const units = name === 'at-once' ? 0 : typeof actual === 'number' ? actual : actual[name]
        settled[`${name} ${key[scope]}`] = (settled[`${name} ${key[scope]}`] ?? 0) + units
      }
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  return { settled, refused }
}

/** The units that are used, by policy and key. */
export async function usedUnits(limiter) {
  const used = {}
  for (const [n, user] of users.entries()) {
    const key = { user, team: teams[n % teams.length] }
    const { policies } = await limiter.peek(key)
    for (const { name, scope } of limiter.policies) {
      used[`${name} ${key[scope]}`] = policies.find((verdict) => verdict.name === name).used
    }
  }
  return used
}

function costs({ policies }) {
  const cost = Object.fromEntries(policies.map(({ name }) => [name, below(6)]))
  return { ...cost, log: below(8) === 0 ? 1 + below(3) : 0, 'at-once': 1 }
}

async function work(reservation) {
  for (let turns = below(6); turns > 0; turns--) await turn()
  if (below(8) === 0) await new Promise((resolve) => setTimeout(resolve, below(20)))
  if (below(8) === 0 && !(await reservation.renew())) throw new Error('a lease ended')
}

/** Returns the actual cost: a number, or one for each policy. */
async function settleSomehow(reservation, cost) {
  const way = below(5)
  if (way === 0) {
    await reservation.cancel()
    return typeof cost === 'number' ? 0 : Object.fromEntries(Object.keys(cost).map((name) => [name, 0]))
  }
  if (way === 1) {
    await reservation.release()
    return cost
  }
  const actual = typeof cost === 'number' ? below(cost + 3) : corrected(cost)
  await reservation.settle(actual)
  return typeof actual === 'number' ? actual : { ...cost, ...actual }
}

/** Less, more or nothing under some of the policies. The others keep their cost. */
function corrected(cost) {
  const names = Object.keys(cost).filter((name) => name !== 'at-once' && below(4) > 0)
  return Object.fromEntries(names.map((name) => [name, below(cost[name] + 2)]))
}
