/* The drafts of draft-ietf-httpapi-ratelimit-headers, by number: a writer for each, and the table of them. */
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

/** Which of the two Lists a dialect writes: those that no later dialect of the same limiter writes. */
interface OwnLists {
  readonly policies: boolean
  readonly left: boolean
}

/** Makes the writer of a draft. */
type MakeWriter = (reported: readonly ReportedPolicy[], own: OwnLists, partitions?: PartitionKeys) => Writer

interface Draft {
  readonly make: MakeWriter
  /** True if it can tell a policy without a window, such as units in flight. */
  readonly withoutWindow?: boolean
  /** True if it needs `nextAfter` of each verdict. */
  readonly nextAfter?: boolean
}

/** Draft 6: three fields of the binding policy, and every policy in RateLimit-Policy. */
const draft6: MakeWriter = (reported, own) => {
  return ofBinding(reported, own, (set, limit, remaining, reset) => {
    set('RateLimit-Limit', String(limit))
    set('RateLimit-Remaining', String(remaining))
    set('RateLimit-Reset', String(reset))
  })
}

/** Draft 7: the three numbers of draft 6 in one Dictionary. */
const draft7: MakeWriter = (reported, own) => {
  return ofBinding(reported, own, (set, limit, remaining, reset) => {
    if (own.left) set('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
  })
}

/**
 * Draft 8: a List of named Items; `t` is the time to full quota. Units in flight come back when requests end, so they have
 * neither a window nor a `t`, but a unit of their own in `qu`.
 */
const draft8: MakeWriter = (reported, own, partitions) => {
  return namedItems(reported, own, partitions, ({ resetAfter }) => `;t=${wholeSeconds(resetAfter)}`)
}

/**
 * Draft 11: as draft 8, but `t` is the effective window, in which a client can use no more than what is left: the time until
 * units come back. A bucket gives units back all the time, so its `t` is left out, unless the next unit fills it.
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

/** The fields of drafts 6 and 7, which have no names: `100;w=60, 5000;w=86400`. */
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
 * The Lists of drafts 8 and later, as Structured Fields (RFC 9651). All text that the policies determine is made once: a
 * general serialiser at every request would take longer than the decision. The tests parse the fields with
 * `structured-headers`.
 * @param time the parameter `t` of an Item, or an empty text for none
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

function windowOf({ algorithm, window }: Policy): string {
  return algorithm.leases ? ';qu="concurrent-requests"' : `;w=${wholeSeconds(window)}`
}

/** A Structured Field String (RFC 9651, 4.1.6). A policy's label is printable ASCII already. */
function structuredString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
