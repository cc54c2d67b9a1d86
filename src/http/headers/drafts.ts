/* The response fields of draft-ietf-httpapi-ratelimit-headers: a writer for each version of the draft. */
import type { Policy } from '../../algorithms/index.ts'
import type { Verdict } from '../../policy/index.ts'
import { wholeSeconds } from '../retry-after.ts'
import {
  bindingVerdict,
  type Dialect,
  integer,
  type ReportedPolicy,
  resetOf,
  setList,
  verdictOf,
  type Writer,
} from './dialect.ts'
import type { PartitionKeys } from './partition-keys.ts'

/**
 * Whether a writer sets the field RateLimit-Policy (`policies`), and whether it sets the field RateLimit (`left`). If a limiter writes
 * several dialects (versions of the fields), each writer leaves out a field that the writer of a later dialect sets.
 */
interface OwnLists {
  readonly policies: boolean
  readonly left: boolean
}

/** Makes the writer of a draft. @param reported the policies that appear in the fields */
type MakeWriter = (reported: readonly ReportedPolicy[], own: OwnLists, partitions?: PartitionKeys) => Writer

interface Draft {
  readonly make: MakeWriter
  /** True if the draft can describe a policy without a window, such as a policy that limits unfinished calls. */
  readonly withoutWindow?: boolean
  /** True if the draft needs `nextAfter` of each verdict (when more units are available). */
  readonly nextAfter?: boolean
}

/**
 * Draft 6: three fields with the numbers of one policy (see `bindingVerdict`), and the field RateLimit-Policy with all
 * policies.
 */
const draft6: MakeWriter = (reported, own) => {
  return ofBinding(reported, own, (set, limit, remaining, reset) => {
    set('RateLimit-Limit', String(limit))
    set('RateLimit-Remaining', String(remaining))
    set('RateLimit-Reset', String(reset))
  })
}

/** Draft 7: one field, a Dictionary with limit, remaining and reset. In draft 6, these are three fields. */
const draft7: MakeWriter = (reported, own) => {
  return ofBinding(reported, own, (set, limit, remaining, reset) => {
    if (own.left) set('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
  })
}

/**
 * Draft 8: a List with a named Item for each policy. The parameter `t` is the time until the quota is full. Units in flight are
 * free when their requests end, so their Item has neither a window nor `t`. The parameter `qu` names their unit.
 */
const draft8: MakeWriter = (reported, own, partitions) => {
  return namedItems(reported, own, partitions, ({ resetAfter }) => `;t=${wholeSeconds(resetAfter)}`)
}

/**
 * Draft 11: like draft 8, but `t` is the time until units are available again. Before that time, a client can use no more than the
 * remaining units. A bucket adds units all the time, so its Item has no `t`, unless the next unit fills the bucket.
 */
const draft11: MakeWriter = (reported, own, partitions) => {
  return namedItems(reported, own, partitions, ({ nextAfter, resetAfter }, { algorithm }) => {
    const until = algorithm.kind === 'bucket' && nextAfter !== resetAfter ? 0 : nextAfter
    return until ? `;t=${wholeSeconds(until)}` : ''
  })
}

export const drafts: Readonly<Record<Exclude<Dialect, 'legacy'>, Draft>> = {
  'draft-6': { make: draft6 },
  'draft-7': { make: draft7 },
  'draft-8': { make: draft8, withoutWindow: true },
  'draft-11': { make: draft11, withoutWindow: true, nextAfter: true },
}

/**
 * Makes the writer of draft 6 or 7. RateLimit-Policy lists all policies, without names: `100;w=60, 5000;w=86400`. The other numbers are
 * those of one policy (see `bindingVerdict`).
 */
function ofBinding(
  reported: readonly ReportedPolicy[],
  own: OwnLists,
  write: (set: (name: string, value: string) => void, limit: number, remaining: number, reset: number) => void,
): Writer {
  const items = reported.map(({ policy }) => `${integer(policy.limit)};w=${wholeSeconds(policy.window)}`)
  const policies = items.join(', ')
  return (decision, sink, response) => {
    const binding = bindingVerdict(decision, reported)
    if (own.policies) setList(sink, response, 'RateLimit-Policy', policies)
    const set = (name: string, value: string) => sink.setHeader(response, name, value)
    write(set, integer(binding.limit), integer(decision.remaining), wholeSeconds(resetOf(binding, decision)))
  }
}

/**
 * Makes the writer of the Lists in draft 8 and later, which are Structured Fields (RFC 9651). The text that depends only on
 * the policies is made once, and not for each request: a general serialiser would take longer than the decision about the
 * request.
 * @param time returns the parameter `t` of an Item; an empty text for no `t`
 */
function namedItems(
  reported: readonly ReportedPolicy[],
  own: OwnLists,
  partitions: PartitionKeys | undefined,
  time: (verdict: Verdict, policy: Policy) => string,
): Writer {
  const names = reported.map(({ policy }) => structuredString(policy.label ?? policy.name))
  const items = reported.map(({ policy }, n) => `${names[n]};q=${integer(policy.limit)}${windowOf(policy)}`)
  const allItems = items.join(', ')
  return (decision, sink, response, key) => {
    const pk = partitions && reported.map(({ policy }) => partitions.of(key, policy.scope))
    let left = ''
    for (let n = 0; n < reported.length; n++) {
      const each = reported[n] as ReportedPolicy
      const verdict = verdictOf(decision, each)
      const t = each.policy.algorithm.leases ? '' : time(verdict, each.policy)
      left += `${n === 0 ? '' : ', '}${names[n]};r=${integer(verdict.remaining)}${t}${pk ? pk[n] : ''}`
    }
    const policies = pk === undefined ? allItems : items.map((item, n) => item + pk[n]).join(', ')
    if (own.policies) setList(sink, response, 'RateLimit-Policy', policies)
    if (own.left) setList(sink, response, 'RateLimit', left)
  }
}

/**
 * The parameter `w` of a policy, or `qu` for units in flight. Windows of a calendar differ in length, so they have no `w`. Draft 8 and
 * later do not require `w`.
 */
function windowOf({ algorithm, calendar, window }: Policy): string {
  if (calendar !== undefined && !calendar.even) return ''
  return algorithm.leases ? ';qu="concurrent-requests"' : `;w=${wholeSeconds(window)}`
}

/** A String of a Structured Field (RFC 9651, 4.1.6). The label of a policy has only the characters that such a String may have. */
function structuredString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
