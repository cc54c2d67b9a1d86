import { duration } from '../report/format.mjs'
import { stricterThan } from './never-binds.mjs'

const day = 86_400_000

/**
 * What is valid in a policy file, and surely a mistake.
 * @typedef {{ rule: string, limiter: string, plan?: string, candidate?: true, policy?: string, problem: string, fix: string }} Finding
 * @typedef {{ place: { limiter: string, plan?: string, candidate?: true }, policies: readonly import('headgate').Policy[], scopes: string[] }} NamedPlan
 *
 * @param {ReadonlyMap<string, import('headgate/policy-file').LimiterPlans>} limiters
 * @returns {Finding[]}
 */
export function findingsIn(limiters) {
  return [...limiters].flatMap(([limiter, { own, plans }]) => {
    const named = [{ place: { limiter }, given: own }]
    for (const [plan, given] of plans) named.push({ place: { limiter, plan }, given })
    const all = named.flatMap(({ place, given }) => planOf(place, given))
    const candidates = named.flatMap(({ place, given }) =>
      planOf({ ...place, candidate: true }, Object(given).candidate),
    )
    return [
      ...[...all, ...candidates].flatMap((plan) => [...neverBinding(plan), ...monthsOfDays(plan)]),
      ...otherScopes(all),
      ...otherUnits(all),
    ]
  })
}

/** @returns {NamedPlan[]} */
function planOf(place, given) {
  if (given === undefined || given === 'unlimited') return []
  return [
    {
      place,
      policies: given.policies,
      scopes: [...given.policies, given.penalty || {}].flatMap(({ scope = [] }) => scope),
    },
  ]
}

function neverBinding({ place, policies }) {
  return policies.flatMap((policy) => {
    const other = stricterThan(policy, policies)
    if (other === undefined) return []
    return {
      rule: 'never-binds',
      ...place,
      policy: policy.name,
      problem: `${termsOf(policy)} never refuses a request, because ${termsOf(other)} of the same scope is always stricter.`,
      fix: `Remove ${JSON.stringify(policy.name)}, or lower its limit.`,
    }
  })
}

/** Such as `"1h" (100 in 1 h)`. @param {any} policy */
function termsOf({ name, limit, window, calendar }) {
  const { every } = calendar ?? {}
  const period = every === undefined ? duration(window) : typeof every === 'string' ? every : `${every.months} months`
  return `${JSON.stringify(name)} (${limit} in ${period})`
}

function monthsOfDays({ place, policies }) {
  return policies.flatMap(({ name, label = name, limit, window, calendar, algorithm }) => {
    const days = window / day
    if (calendar !== undefined || algorithm.leases || days < 28 || days > 31) return []
    const called = [name, label].find((text) => /month/i.test(text))
    if (called === undefined && !/^(30|31)d$/.test(name)) return []
    const is = called === undefined ? 'looks like a month' : `is called ${JSON.stringify(called)}`
    return {
      rule: 'month-of-days',
      ...place,
      policy: name,
      problem: `A window of ${days} days ${is}, but does not begin and end with a month.`,
      fix: `Write "${limit}/month". If ${days} days are meant, say so with "name": "rolling-${days}d".`,
    }
  })
}

/** Scopes of one limiter whose names differ by a slip: a plan with the wrong one does not count the key that is meant. */
function otherScopes(plans) {
  const known = new Map()
  for (const { place, scopes } of plans) for (const scope of scopes) if (!known.has(scope)) known.set(scope, place)
  const names = [...known.keys()]
  return names.flatMap((scope, n) => {
    const like = names.slice(0, n).find((other) => isSlip(scope, other))
    if (like === undefined) return []
    return {
      rule: 'similar-scopes',
      ...known.get(scope),
      problem: `The scope ${JSON.stringify(scope)} is not the scope ${JSON.stringify(like)}, so each counts a key of its own.`,
      fix: 'Write one name for one kind of key.',
    }
  })
}

/** True for `user` and `User`, `users`, `uesr`, and not for `key1` and `key2`. */
function isSlip(a, b) {
  const [one, two] = [a, b].map((text) => text.toLowerCase().replace(/[-_ ]/g, ''))
  if (one === two || `${one}s` === two || one === `${two}s`) return true
  if (Math.min(one.length, two.length) < 4 || /\d/.test(a + b)) return false
  let from = 0
  while (one[from] === two[from]) from++
  const [restOne, restTwo] = [one.slice(from), two.slice(from)]
  const isSwap = restOne[0] === restTwo[1] && restOne[1] === restTwo[0] && restOne.slice(2) === restTwo.slice(2)
  return isSwap || restOne.slice(1) === restTwo || restOne === restTwo.slice(1)
}

/** Policies of one name in two plans, whose units cannot be carried over: units in flight, and units of a window. */
function otherUnits(plans) {
  const seen = new Map()
  return plans.flatMap(({ place, policies }) =>
    policies.flatMap((policy) => {
      const key = JSON.stringify([policy.scope, policy.name])
      const before = seen.get(key)
      if (before === undefined) seen.set(key, { policy, place })
      if (before === undefined || isInFlight(before.policy) === isInFlight(policy)) return []
      const other = before.place.plan === undefined ? 'the policies of the limiter' : `the plan ${before.place.plan}`
      return {
        rule: 'other-units',
        ...place,
        policy: policy.name,
        problem: `${JSON.stringify(policy.name)} counts ${unitsOf(policy)}, and in ${other} ${unitsOf(before.policy)}. They share one state.`,
        fix: 'Give one of the policies another name.',
      }
    }),
  )
}

function isInFlight({ algorithm }) {
  return algorithm.leases === true
}

function unitsOf(policy) {
  return isInFlight(policy) ? 'calls in flight' : 'calls in a window'
}
