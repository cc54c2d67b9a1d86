/*
 * What a limiter knows of a key, in words and numbers. A store returns states with the definitions of the algorithms that wrote
 * them (the command `inspect`). All else is made here, in the same way for all stores.
 */

import { banAt, type CallBan, callBan, longerBan } from '../algorithms/bans/index.ts'
import { PolicyEvaluation } from '../algorithms/evaluation/index.ts'
import { hasFullQuota, type Policy, pointTo, revive, type StateRule, timeText } from '../algorithms/index.ts'
import type { Source } from '../policy/index.ts'
import type { KeptKey, KeptState } from './kept-key.ts'
import { inspectPolicy, type PolicyInspection } from './policy-inspection.ts'

/** A ban by hand, as long as it lasts. */
export interface InspectedBan {
  /** When it ends, in milliseconds since the epoch by the store's clock. Infinity for a ban that lasts until it is lifted. */
  readonly until: number
  /** The scope of the banned key. If several keys are banned, that of the ban that ends last. */
  readonly scope: string
  /** The reason that was given; undefined without one. */
  readonly reason: string | undefined
}

/**
 * A key as its store has it now. Nothing is changed by looking. Durations are milliseconds, rounded up; times are
 * milliseconds since the epoch. A key that the store does not know has its full quota under every policy.
 */
export interface Inspection {
  /** True if a call of cost 1 would be refused now. */
  readonly refused: boolean
  /** The time until a call of cost 1 is admitted; 0 for now, Infinity for never. */
  readonly retryAfter: number
  /** The answer in a sentence: `'Refused for 340 ms more by the policy "1s".'` */
  readonly words: string
  /** The ban by hand; undefined if the key has none. */
  readonly ban: InspectedBan | undefined
  /** The state under each policy of the limiter, in its order. */
  readonly policies: readonly PolicyInspection[]
  /** States of the key under policies of other deploys or plans of the limiter that still count for those. */
  readonly others: readonly PolicyInspection[]
  /** When a call last changed the key; undefined if the store does not know the key. */
  readonly lastUsedAt: number | undefined
  /** The time by the store's clock. */
  readonly at: number
  /** As in a decision: `'store'`; `'fallback'` or `'open'` if the store failed. */
  readonly source: Source
  /** False if the numbers are an upper bound of what is used. `notes` say why. */
  readonly exact: boolean
  /** What the numbers do not show, in whole sentences: units taken ahead, decisions that are not reported yet. */
  readonly notes: readonly string[]
}

/** What an inspection needs to know about a limiter. */
export interface InspectedLimiter {
  /** Undefined if the policies are not known, or differ from key to key: then each state is shown as it was written. */
  readonly policies?: readonly Policy[] | undefined
  readonly scopes: readonly string[]
  /** The rule by which a state of other numbers goes over to a policy. */
  readonly onChange: StateRule
}

/** @param kept what the store has for the key of each scope */
export function inspectionOf({ policies, scopes, onChange }: InspectedLimiter, kept: readonly KeptKey[]): Inspection {
  const inspected = policies?.map((policy) => {
    const key = kept[scopes.indexOf(policy.scope)] as KeptKey
    return inspectOwn(key.policies?.find(({ name }) => name === policy.name) ?? policy, key, onChange)
  })
  const others = kept.flatMap(({ states, now }, n) => {
    const own = policies?.filter(({ scope }) => scope === scopes[n]).map(({ name }) => name)
    return states
      .filter(({ name }) => name === undefined || !own?.includes(name))
      .flatMap((state) => inspectState(state, now))
  })
  const ban = kept.map((key, n) => banOf(key, scopes[n] as string)).reduce(longerBan, undefined)
  return {
    ...(inspected === undefined ? joined(others, [], ban) : joined(inspected, others, ban)),
    at: Math.floor((kept[0] as KeptKey).now / 1000),
    source: kept.map(({ source = 'store' }) => source).find((source) => source !== 'store') ?? 'store',
    exact: !kept.some(({ atMost }) => atMost),
    notes: [...new Set(kept.flatMap(({ notes = [] }) => notes))],
  }
}

function banOf({ now, ban }: KeptKey, scope: string): CallBan | undefined {
  const lasting = ban && banAt(ban, now)
  return lasting && callBan(scope, lasting, now)
}

function joined(policies: readonly PolicyInspection[], others: readonly PolicyInspection[], ban: CallBan | undefined) {
  const enforced = policies.filter(({ shadow }) => !shadow)
  const byPolicies = Math.max(0, ...enforced.map((policy) => policy.retryAfter))
  const binding = enforced.find((policy) => policy.retryAfter === byPolicies)
  const bannedFor = Math.ceil((ban?.wait ?? 0) / 1000)
  const retryAfter = Math.max(byPolicies, bannedFor)
  const times = [...policies, ...others].flatMap(({ lastUsedAt }) => lastUsedAt ?? [])
  const lastUsedAt = times.length === 0 ? undefined : Math.max(...times)
  const words = sentence(byPolicies, binding, policies, lastUsedAt)
  return {
    refused: retryAfter > 0,
    retryAfter,
    words: ban === undefined ? words : banSentence(ban, byPolicies > bannedFor ? ` ${words}` : ''),
    ban: ban && { until: Math.ceil(ban.until / 1000), scope: ban.scope, reason: ban.reason },
    policies,
    others,
    lastUsedAt,
  }
}

/** @param after a sentence to append: a policy that refuses the key for longer */
function banSentence({ wait, reason }: CallBan, after: string): string {
  const time = wait === Infinity ? 'until the ban is lifted' : `for ${timeText(wait)} more`
  const why = reason === undefined ? '' : `: ${JSON.stringify(reason)}`
  return `Banned by hand ${time}${why}.${after}`
}

function sentence(
  retryAfter: number,
  binding: PolicyInspection | undefined,
  policies: readonly PolicyInspection[],
  lastUsedAt: number | undefined,
): string {
  if (retryAfter === Infinity) return `Refused by the policy "${binding?.name}", which never admits a call.`
  if (retryAfter > 0) return `Refused for ${timeText(retryAfter * 1000)} more by the policy "${binding?.name}".`
  if (lastUsedAt === undefined) return 'Admitted: nothing is known of the key, so it has its full quota.'
  const reset = Math.max(0, ...policies.map(({ resetAfter }) => resetAfter))
  return reset > 0 ? `Admitted; the full quota is back in ${timeText(reset * 1000)}.` : 'Admitted, with the full quota.'
}

/** The state under a policy. A state that was written under other numbers is shown as the next decision would count it. */
function inspectOwn(policy: Policy, { now, states }: KeptKey, rule: StateRule): PolicyInspection {
  const state = states.find(({ name }) => name === policy.name)
  const evaluation = new PolicyEvaluation(policy)
  pointTo(evaluation, state && { ...state, s: state.s.slice() }, now, rule)
  return inspectPolicy(policy, evaluation.s as number[], now, evaluation.foreign)
}

/** The state as it was written. Empty if it no longer counts, or if this version does not know its algorithm. */
function inspectState({ name, hash, definition, s }: KeptState, now: number): PolicyInspection[] {
  const algorithm = revive(definition)
  if (algorithm === undefined || hasFullQuota(s.slice(), 0, algorithm, now)) return []
  const shown = name ?? `#${hash}`
  return [inspectPolicy({ name: shown, ...algorithm.terms, shadow: false, algorithm }, s, now, undefined)]
}
