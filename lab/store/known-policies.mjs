/*
 * What is known of the policies of an application's limiter: all of them with a policy file, else what the first keys in the store show.
 */
import { openPolicies } from '../cli/policies.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { policiesOfScopes } from './limiter-of.mjs'

/** The most keys whose policies are looked at. */
const mostKeys = 1000

/** A store with only hashes of names shows this in place of a name. */
const hashed = /^#[0-9a-f]{8}$/

/**
 * @typedef {{ policies: any[], scopes: string[], named: { name: string | undefined, scope: string }[], file: string | undefined }} Known
 * `policies` for a limiter that writes overrides, the `scopes`, and the names of policies that are known, or of which only a hash is known
 */

/** @param {string} path @param {string} limiter @returns {Known} @throws UsageError if the file does not have the limiter */
export function policiesInFile(path, limiter) {
  const limiters = openPolicies(path).limiters()
  const found = limiters.get(limiter)
  if (found === undefined)
    throw new UsageError(
      `${path} has no limiter ${JSON.stringify(limiter)}.`,
      `Its limiters are ${[...limiters.keys()].join(', ')}.`,
    )
  /** @type {any[]} the plans of a file have policies, and no texts */
  const plans = [found.own, ...found.plans.values()].filter((plan) => typeof plan === 'object')
  const byName = new Map(plans.flatMap(({ policies }) => policies).map((policy) => [policy.name, policy]))
  const policies = [...byName.values()]
  return { policies, scopes: [...new Set(policies.map(({ scope }) => scope))], named: policies, file: path }
}

/**
 * What up to 1,000 keys of the limiter show.
 * @param inspector knows the names that are looked for @param {string} limiter
 * @param {string} [scope] a scope that the user has named @returns {Promise<Known>}
 */
export async function policiesInStore(inspector, limiter, scope) {
  const scopes = new Set(scope === undefined ? [] : [scope])
  const named = new Map()
  let looked = 0
  for await (const stored of inspector.list({ limiter })) {
    scopes.add(stored.scope)
    for (const { name, kind } of stored.inspection?.policies ?? []) {
      if (kind === 'penalty') continue
      named.set(`${stored.scope} ${name}`, { name: hashed.test(name) ? undefined : name, scope: stored.scope })
    }
    if (++looked === mostKeys) break
  }
  const known = [...scopes].filter((each) => each !== undefined)
  return { policies: policiesOfScopes(known), scopes: known, named: [...named.values()], file: undefined }
}

/**
 * Whether the override changes a policy. Null if that is not known, because the store shows only the policies of the keys that have called.
 * @param override as the library gives it @param {Known} known
 */
export function isEffective(override, { named, file }) {
  const has = named.some(
    ({ name, scope }) =>
      (override.scope === undefined || override.scope === scope) &&
      (override.policy === undefined || override.policy === name),
  )
  return has || (file === undefined ? null : false)
}

/** What says which overrides are effective, for people. @param {Known} known */
export function sourceOf({ named, file }) {
  if (file !== undefined) return `effective: by ${file}`
  const names = named.flatMap(({ name, scope }) => (name === undefined ? [] : [`${name} (${scope})`]))
  if (names.length === 0) return 'effective: by the store, in which no key shows a policy by its name'
  return `effective: by the policies that keys in the store show: ${names.join(', ')}`
}
