/*
 * Describes the states of a key in words and numbers. For the command `inspect`, a store returns the states of the key, and the definitions
 * of the algorithms that wrote them. All other facts are computed here, in the same way for all stores.
 */

import { banAt, type CallBan, callBan, longerBan } from '../algorithms/bans/index.ts'
import { PolicyEvaluation } from '../algorithms/evaluation/index.ts'
import {
  hasFullQuota,
  type Policy,
  pointTo,
  revive,
  type StateRule,
  timeText,
  type Windows,
} from '../algorithms/index.ts'
import type { AppliedOverride, Source } from '../policy/index.ts'
import type { KeptKey, KeptState } from './kept-key.ts'
import { inspectPolicy, type PolicyInspection } from './policy-inspection.ts'

/** A ban that the method `ban` has set for a key, and that has not ended yet. */
export interface InspectedBan {
  /** When the ban ends, in milliseconds since the epoch by the store's clock. Infinity for a ban without an end. */
  readonly until: number
  /** The scope (kind of key) of the ban. If the keys of several scopes are banned, the scope of the ban that ends last. */
  readonly scope: string
  /** The reason that was given for the ban; undefined if none was given. */
  readonly reason: string | undefined
}

/**
 * The present state of a key in the store. An inspection changes nothing. Durations are milliseconds, rounded up; times are
 * milliseconds since the epoch. A key that the store does not know has its full quota under every policy.
 */
export interface Inspection {
  /** True if a call of cost 1 would be refused now. */
  readonly refused: boolean
  /** Milliseconds until a call of cost 1 is admitted. 0: the call is admitted now. Infinity: never. */
  readonly retryAfter: number
  /** The state of the key in a sentence: `'Refused for 340 ms more by the policy "1s".'` */
  readonly words: string
  /** The ban that the method `ban` has set for the key; undefined if there is no such ban. */
  readonly ban: InspectedBan | undefined
  /** The state of the key under each policy of the limiter, in the order of the policies. */
  readonly policies: readonly PolicyInspection[]
  /**
   * States of the key under policies that this limiter lacks, but other deploys or other plans (policy lists) of the limiter have. In those
   * deploys and plans, these states still count.
   */
  readonly others: readonly PolicyInspection[]
  /** When a call last changed a state of the key; undefined if the store does not know the key. */
  readonly lastUsedAt: number | undefined
  /** The present time by the store's clock. */
  readonly at: number
  /** Where the numbers come from, as in a decision of the limiter: `'store'`, or `'fallback'` or `'open'` if the store failed. */
  readonly source: Source
  /** False if the numbers may show more used units than are really used. `notes` give the reason. */
  readonly exact: boolean
  /**
   * Sentences about facts that the numbers do not show. Examples: units that a process has taken from the store in advance, and decisions
   * that a process has not reported to the store yet.
   */
  readonly notes: readonly string[]
  /** The overrides that change the policies of the key, as in a decision. Absent if there are none. */
  readonly override?: readonly AppliedOverride[]
}

/** The facts about a limiter that an inspection needs. */
export interface InspectedLimiter {
  /**
   * The policies of the limiter. Undefined if they are unknown or differ between keys: then each state is shown under the
   * settings with which the state was written.
   */
  readonly policies?: readonly Policy[] | undefined
  readonly scopes: readonly string[]
  /** The rule for states that were written with other settings of their policy, such as another limit: how many units count as used. */
  readonly onChange: StateRule
}

/**
 * Describes the states and the bans of a call's keys.
 * @param kept what the store has for each key, one key for each scope (kind of key)
 * @param wait the wait in milliseconds, if it is not the wait under the policies, because an override ends earlier
 */
export function inspectionOf(
  { policies, scopes, onChange }: InspectedLimiter,
  kept: readonly KeptKey[],
  wait?: number,
): Inspection {
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
  const source: Source = kept.map((key) => key.source ?? 'store').find((each) => each !== 'store') ?? 'store'
  // With spread syntax, a list of a million keys takes several seconds longer.
  return Object.assign(inspected === undefined ? joined(others, [], ban) : joined(inspected, others, ban, wait), {
    at: Math.floor((kept[0] as KeptKey).now / 1000),
    source,
    exact: !kept.some(({ atMost }) => atMost),
    notes: [...new Set(kept.flatMap(({ notes = [] }) => notes))],
  })
}

function banOf({ now, ban }: KeptKey, scope: string): CallBan | undefined {
  const lasting = ban && banAt(ban, now)
  return lasting && callBan(scope, lasting, now)
}

function joined(
  policies: readonly PolicyInspection[],
  others: readonly PolicyInspection[],
  ban: CallBan | undefined,
  wait?: number,
) {
  const enforced = policies.filter(({ shadow }) => !shadow)
  const longest = Math.max(0, ...enforced.map((policy) => policy.retryAfter))
  const binding = enforced.find((policy) => policy.retryAfter === longest)
  const byPolicies = wait ?? longest
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

/**
 * Describes a ban in words.
 * @param after a sentence about a policy that refuses the key for longer than the ban, to append to the result. Empty if there is none
 */
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

/** The windows of a call that says no calendar. */
const noWindows: Windows = [0, 0, 0, 0]

/**
 * The state of a key under a policy of the limiter. If the state was written with another limit, the state is first converted to the
 * present limit, as the option `onChange` says.
 */
function inspectOwn(policy: Policy, { now, states }: KeptKey, rule: StateRule): PolicyInspection {
  const state = states.find(({ name }) => name === policy.name)
  const evaluation = new PolicyEvaluation(policy)
  const windows = policy.calendar?.windowsAt(now, undefined)
  policy.algorithm.place?.(windows ?? noWindows) // a state of another kind counts in the present window
  pointTo(evaluation, state && { ...state, s: state.s.slice() }, now, rule)
  const { foreign } = evaluation
  if (foreign !== undefined && policy.calendar !== undefined && windows === undefined) {
    // Only calls say the calendar of the customer. Until the next call, the units come back as under their old policy.
    const end = now + foreign.reset(0)
    policy.algorithm.place?.([now, now, end, end])
    evaluation.s = foreign.carried()
  }
  return inspectPolicy(policy, evaluation.s as number[], now, foreign)
}

/**
 * Describes a state under the settings with which the state was written. The list is empty if the key has its full quota under
 * these settings, or if this version of headgate lacks the algorithm of the state.
 */
function inspectState({ name, hash, definition, s }: KeptState, now: number): PolicyInspection[] {
  const algorithm = revive(definition)
  if (algorithm === undefined || hasFullQuota(s.slice(), 0, algorithm, now)) return []
  const shown = name ?? `#${hash}`
  return [inspectPolicy({ name: shown, ...algorithm.terms, shadow: false, algorithm }, s, now, undefined)]
}
