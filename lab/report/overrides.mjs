import { sourceOf } from '../store/known-policies.mjs'
import { count, duration, time } from './format.mjs'

const columns = ['id', '~scope', 'keys', 'numbers', 'until', 'reason', 'effective']
const words = new Map([
  [true, 'yes'],
  [false, 'no'],
  [null, 'unknown'],
])

export function overridesReport(server, limiter, overrides, known) {
  const rows = overrides.map(overrideCells)
  const none = [`${limiter} has no overrides.`]
  return {
    title: `Overrides of ${limiter}`,
    facts: rows.length === 0 ? [server] : [server, sourceOf(known)],
    sections: [
      {
        heading: 'Overrides',
        notes: rows.length === 0 ? none : [],
        tables: rows.length === 0 ? [] : [{ columns, rows }],
      },
    ],
  }
}

/** The cells of one override, in the order of the columns. */
export function overrideCells(override) {
  const { id, scope = '', until, reason = '', effective } = override
  const end = until === undefined ? '' : `${time(until)} UTC`
  return [id, scope, keysOf(override), numbersOf(override), end, reason, words.get(effective)]
}

function keysOf({ key, prefix }) {
  if (prefix !== undefined) return prefix === '' ? 'all keys' : `begin with ${prefix}`
  if (key !== undefined) return key === '' ? '(empty)' : key
  return 'all keys'
}

function numbersOf({ policy, limit, add, scale, policies }) {
  if (policies !== undefined) return policies.map(policyText).join(', ')
  const of = policy ?? 'all policies'
  if (limit !== undefined) return `${of}: limit ${count(limit)}`
  return add !== undefined ? `${of}: ${count(add)} more` : `${of}: times ${scale}`
}

function policyText(policy) {
  if (policy === null) return 'a policy of another version'
  return `${policy.name}: ${count(policy.limit)} in ${duration(policy.window)} (${policy.kind})`
}
