import { LRUCache } from 'lru-cache'
import { flag, type MaybePromise, optional, readOptions, scopeOf, timeUntil, whole } from '../common/index.ts'
import {
  type InspectedLimiter,
  type Inspection,
  inspectionOf,
  type KeptKey,
  type KeptListing,
} from '../inspection/index.ts'
import type { Match } from '../overrides/index.ts'
import type { CheckedLedger } from '../stores/contract/index.ts'

/** The options of `list`. */
export interface ListOptions {
  /** True to list only keys whose next call with a cost of 1 would be refused now. Default false. */
  refused?: boolean | undefined
  /** The largest number of keys to list. Default: all keys. Example: `50`. */
  limit?: number | undefined
  /** The scope (kind of key) whose keys are listed. Default: the keys of all scopes, one scope after another. Example: `'user'`. */
  scope?: string | undefined
}

/** A key that has a state in the store. */
export interface ListedKey {
  /** The key. Undefined if the store has only a hash of the key, because the key is long. */
  readonly key: string | undefined
  /** The hash of the key. Undefined if the key itself is known. */
  readonly hash: string | undefined
  readonly scope: string
  /** The result of `inspect` for the key at the time when `list` read the key, with only the policies of the key's scope. */
  readonly inspection: Inspection
}

/** The parts of a limiter that `list` needs. */
export interface ShownLimiter extends InspectedLimiter {
  readonly ledger: CheckedLedger
  /** The inspection of a key in a scope, if an override changes its policies. */
  readonly overridden?: (scope: string, key: string, kept: KeptKey) => MaybePromise<Inspection> | undefined
}

/** How many listed keys `list` remembers, to list each key once. If there are more keys, a key may be listed twice. */
const remembered = 100_000

/** Lists the keys of a limiter. @throws HeadgateError `HEADGATE_OPTION` if an option is invalid */
export function list(limiter: ShownLimiter, options: ListOptions = {}): AsyncGenerator<ListedKey, void, undefined> {
  const scopes = optional(scopeOf(limiter.scopes))
  const readers = { refused: flag(), limit: whole(Number.MAX_SAFE_INTEGER), scope: scopes }
  const { refused, limit, scope } = readOptions('list', options, readers)
  return listed(limiter, scope === undefined ? limiter.scopes : [scope], refused, limit)
}

async function* listed(
  limiter: ShownLimiter,
  scopes: readonly string[],
  refused: boolean,
  limit: number,
): AsyncGenerator<ListedKey, void, undefined> {
  let left = limit
  for (const scope of scopes) {
    for await (const found of keysOf(limiter, scope)) {
      if (refused && !found.inspection.refused) continue
      yield found
      if (--left === 0) return
    }
  }
}

/** The banned keys and the keys with less than their full quota, in one scope, each key once: a store may return a key several times. */
async function* keysOf(
  { ledger, policies, overridden, onChange }: ShownLimiter,
  scope: string,
): AsyncGenerator<ListedKey, void, undefined> {
  const inScope = { policies: policies?.filter((policy) => policy.scope === scope), scopes: [scope], onChange }
  const seen = new LRUCache<string, true>({ maxSize: remembered, sizeCalculation: () => 1 })
  let from: unknown
  do {
    const page = await ledger.run({ verb: 'scan', keys: [], scan: { scope, from } })
    for (const { key, hash, kept } of page.keys) {
      const name = nameOf(key, hash)
      if (seen.has(name)) continue
      const own = key === undefined ? undefined : await overridden?.(scope, key, kept)
      const inspection = own ?? inspectionOf(inScope, [kept])
      if (!isLive(inspection)) continue
      seen.set(name, true)
      yield { key, hash, scope, inspection }
    }
    from = page.next
  } while (from !== undefined)
}

function nameOf(key: KeptListing['key'], hash: KeptListing['hash']): string {
  return key === undefined ? `#${hash}` : `=${key}`
}

/** True if the key is banned, or has less than its full quota. A store may also return other keys. */
function isLive({ ban, policies, others }: Inspection): boolean {
  return ban !== undefined || policies.some(({ resetAfter }) => resetAfter > 0) || others.length > 0
}

/**
 * The inspection of a key under overrides. If the key is refused until after the end of an override, the wait is that of the later policies.
 * @param shownBy the policies of a limiter; without a limiter, the policies without overrides
 */
export function inspectUnder<Limiter>(
  { limiter, until, next, applied: override }: Match<Limiter>,
  kept: readonly KeptKey[],
  shownBy: (limiter?: Limiter) => ShownLimiter,
): Inspection {
  const shown = shownBy(limiter)
  const inspection = inspectionOf(shown, kept)
  const left = timeUntil(until)
  if (inspection.retryAfter < left) return { ...inspection, override }
  const match = next()
  const later = match === undefined ? inspectionOf(shownBy(), kept) : inspectUnder(match, kept, shownBy)
  return { ...inspectionOf(shown, kept, Math.max(left, later.retryAfter)), override }
}
