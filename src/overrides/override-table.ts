import type { Policy } from '../algorithms/index.ts'
import { getOrInsert, reason, shown, wallClock, warnOnce } from '../common/index.ts'
import type { AppliedOverride } from '../policy/index.ts'
import type { CheckedLedger, OverrideExtent } from '../stores/contract/index.ts'
import { type Chain, derivePolicies, type Entry } from './derive-policies.ts'
import type { AskLater, Match } from './match.ts'
import { OverriddenLedger } from './overridden-ledger.ts'
import { type OverrideRecord, unpackPolicy } from './override-record.ts'

export type { OverrideExtent } from '../stores/contract/index.ts'

/** The parts of a limiter that a table needs to find the policies of a call. */
export interface OverriddenLimiter<Limiter> {
  readonly scopes: readonly string[]
  /** The policies without a penalty. */
  readonly plan: readonly Policy[]
  /** Asks again about a call with one cost for all policies and a key for each scope. */
  readonly askLater: AskLater<Limiter>
  /** A limiter with the same states and other policies. The same policies give the same limiter. */
  derive(
    policies: readonly Policy[],
    extent: OverrideExtent,
    applied: readonly AppliedOverride[],
  ): { readonly limiter: Limiter; readonly ledger: CheckedLedger }
}

/** All prefixes with the same length. */
interface Prefixes {
  readonly length: number
  /**
   * The results of `markOf` for these prefixes. A key with another mark has none of these prefixes. So few keys are cut to the
   * length of a prefix, which takes 20 ns.
   */
  readonly marks: ReadonlySet<number>
  readonly chains: ReadonlyMap<string, Chain>
}

/** The first character of the key and the last character of its prefix with this length, as one number. NaN for an empty prefix. */
function markOf(key: string, length: number): number {
  return key.charCodeAt(0) * 65536 + key.charCodeAt(length - 1)
}

/** The overrides for the keys of one scope. */
class ScopeTable {
  readonly exact: Map<string, Chain> = new Map<string, Chain>()
  /** The prefixes of each length, the longest first. */
  prefixes: readonly Prefixes[] = []
  rest: Chain | undefined

  /** The overrides that match the key; undefined if none does. */
  find(key: string): Chain | undefined {
    if (this.exact.size > 0) {
      const chain = this.exact.get(key)
      if (chain !== undefined) return chain
    }
    return this.prefixes.length > 0 ? this.#findPrefix(key) : this.rest
  }

  #findPrefix(key: string): Chain | undefined {
    const { prefixes } = this
    for (let n = 0; n < prefixes.length; n++) {
      const { length, marks, chains } = prefixes[n] as Prefixes
      if (key.length < length || !marks.has(markOf(key, length))) continue
      const chain = chains.get(key.slice(0, length))
      if (chain !== undefined) return chain
    }
    return this.rest
  }
}

/** The overrides of a limiter at a time. A table never changes: each change of the overrides makes another table. */
export class OverrideTable {
  readonly #entries: readonly Entry[]
  readonly #scopes = new Map<string, ScopeTable>()
  #chains = 0
  /** Replaces this table by a new table without the overrides that have ended. Returns undefined if no override is left. */
  readonly renew: () => OverrideTable | undefined

  constructor(records: readonly OverrideRecord[], renew: () => OverrideTable | undefined) {
    this.#entries = records.flatMap((record): Entry[] => {
      const policies = record.policies?.map(unpackPolicy)
      // Another version of headgate wrote these policies.
      return policies?.includes(undefined) ? [] : [{ record, policies: policies as Policy[] | undefined }]
    })
    this.renew = renew
  }

  viewOf<Limiter>(limiter: OverriddenLimiter<Limiter>): OverrideView<Limiter> {
    return new OverrideView(this, limiter)
  }

  of(scope: string): ScopeTable {
    return getOrInsert(this.#scopes, scope, () => this.#make(scope))
  }

  #make(scope: string): ScopeTable {
    const own = this.#entries.filter(({ record }) => record.scope === undefined || record.scope === scope)
    const keyed = own.filter(({ record }) => record.key !== undefined)
    const prefixed = own.filter(({ record }) => record.prefix !== undefined).sort(longestFirst)
    const rest = own.filter(({ record }) => record.key === undefined && record.prefix === undefined)
    const under = (key: string) => [
      ...prefixed.filter(({ record }) => key.startsWith(record.prefix as string)),
      ...rest,
    ]
    const table = new ScopeTable()
    const keys = new Set(keyed.map(({ record }) => record.key as string))
    for (const key of keys) {
      table.exact.set(key, this.#chain([...keyed.filter(({ record }) => record.key === key), ...under(key)]))
    }
    const lengths = new Map<number, Map<string, Chain>>()
    for (const prefix of new Set(prefixed.map(({ record }) => record.prefix as string))) {
      getOrInsert(lengths, prefix.length, () => new Map()).set(prefix, this.#chain(under(prefix)))
    }
    table.prefixes = [...lengths].map(([length, chains]) => {
      return { length, chains, marks: new Set([...chains.keys()].map((prefix) => markOf(prefix, length))) }
    })
    if (rest.length > 0) table.rest = this.#chain(rest)
    return table
  }

  #chain(entries: readonly Entry[]): Chain {
    const isRest = entries.every(({ record }) => record.key === undefined && record.prefix === undefined)
    return { id: this.#chains++, entries, until: endOf(entries), isRest }
  }
}

/** When the first of the overrides ends, in milliseconds since the epoch. Infinity if none ends. */
function endOf(entries: readonly Entry[]): number {
  return Math.min(...entries.map(({ record }) => record.until ?? Infinity))
}

function longestFirst(a: Entry, b: Entry): number {
  return (b.record.prefix as string).length - (a.record.prefix as string).length
}

/** The table of one limiter, with the limiters that were derived from that limiter for calls under overrides. */
export class OverrideView<Limiter> {
  readonly table: OverrideTable
  readonly #limiter: OverriddenLimiter<Limiter>
  readonly #scopes: readonly ScopeTable[]
  /**
   * The match of each chain (the overrides that match a key), or of each combination of chains. Null if the overrides change nothing for
   * this limiter.
   */
  readonly #matches = new Map<Chain | string, Match<Limiter> | null>()

  constructor(table: OverrideTable, limiter: OverriddenLimiter<Limiter>) {
    this.table = table
    this.#limiter = limiter
    this.#scopes = limiter.scopes.map((scope) => table.of(scope))
  }

  /** The match of a call with these keys, one key for each scope. Undefined if no override matches a key. */
  find(keys: readonly (string | undefined)[]): Match<Limiter> | undefined {
    const scopes = this.#scopes
    if (scopes.length !== 1) return this.#findSeveral(keys)
    const chain = (scopes[0] as ScopeTable).find(keys[0] as string)
    return chain === undefined ? undefined : this.#matchOf(chain, chain.until, keys, [chain])
  }

  #findSeveral(keys: readonly (string | undefined)[]): Match<Limiter> | undefined {
    const scopes = this.#scopes
    let chains: (Chain | undefined)[] | undefined
    for (let n = 0; n < scopes.length; n++) {
      const key = keys[n]
      const chain = key === undefined ? undefined : (scopes[n] as ScopeTable).find(key)
      if (chain === undefined) continue
      chains ??= new Array(scopes.length).fill(undefined)
      chains[n] = chain
    }
    if (chains === undefined) return undefined
    const until = Math.min(...chains.map((chain) => chain?.until ?? Infinity))
    return this.#matchOf(chains.map((chain) => chain?.id).join(), until, keys, chains)
  }

  #matchOf(
    id: Chain | string,
    until: number,
    keys: readonly (string | undefined)[],
    chains: readonly (Chain | undefined)[],
  ): Match<Limiter> | undefined {
    if (until < Infinity && wallClock() >= until * 1000) return this.table.renew()?.viewOf(this.#limiter).find(keys)
    const match = this.#matches.get(id)
    return match === undefined ? this.#make(id, chains) : (match ?? undefined)
  }

  #make(id: Chain | string, chains: readonly (Chain | undefined)[]): Match<Limiter> | undefined {
    const match = this.#under(chains)
    if (this.#matches.size < mostMatches) this.#matches.set(id, match)
    return match ?? undefined
  }

  /** Null if no override changes a policy. If the limiter or its store refuses the policies of an override, this override changes nothing. */
  #under(chains: readonly (Chain | undefined)[]): Match<Limiter> | null {
    const { scopes, plan, askLater } = this.#limiter
    const derived = derivePolicies(plan, (scope) => chains[scopes.indexOf(scope)])
    if (derived.applied.length === 0) return null
    const applied = Object.freeze(
      derived.applied.map(({ id, reason }) => Object.freeze({ id, ...(reason && { reason }) })),
    )
    const extent = chains.every((chain) => chain === undefined || chain.isRest) ? 'all' : 'some'
    const until = Math.min(...chains.map((chain) => chain?.until ?? Infinity))
    try {
      const { limiter, ledger } = this.#limiter.derive(derived.policies, extent, applied)
      let later: Match<Limiter> | null | undefined
      const next = () => {
        if (later === undefined) later = this.#under(chains.map((chain) => chain && lastingFrom(chain, until)))
        return later ?? undefined
      }
      const ends = { applied, until, next }
      const naming: Match<Limiter>['naming'] = (each, ask) => new OverriddenLedger(each, ends, ask)
      return { limiter, ledger: naming(ledger, askLater), naming, renamed: derived.renamed, ...ends }
    } catch (error) {
      return this.#without(chains, error)
    }
  }

  /**
   * The match without an override with `policies`: one that the limiter refuses also alone, or else the last one. Null if there is none: an
   * override never makes a call fail.
   */
  #without(chains: readonly (Chain | undefined)[], error: unknown): Match<Limiter> | null {
    const hasPolicies = (chain: Chain | undefined) => chain?.entries.some(replaces)
    const alone = chains.findLastIndex((chain, n) => hasPolicies(chain) && !this.#holds(chain, n))
    const at = alone === -1 ? chains.findLastIndex(hasPolicies) : alone
    if (at === -1) return null
    const { entries, ...chain } = chains[at] as Chain
    const refused = entries.find(replaces) as Entry
    const { id } = refused.record
    const fix = 'Remove the override, and write another one whose policies have names of their own.'
    warnOnce(
      'HEADGATE_OVERRIDE',
      `The policies of the override ${shown(id)} change nothing under a plan. ${reason(error)} ${fix}`,
      id,
    )
    return this.#under(chains.with(at, { ...chain, entries: entries.filter((entry) => entry !== refused) }))
  }

  /** True if the limiter can have the policies under this chain, for the scope with index `n`, and under no other. */
  #holds(chain: Chain | undefined, n: number): boolean {
    const { scopes, plan } = this.#limiter
    try {
      this.#limiter.derive(
        derivePolicies(plan, (scope) => (scopes[n] === scope ? chain : undefined)).policies,
        'some',
        [],
      )
      return true
    } catch {
      return false
    }
  }
}

const replaces = ({ policies }: Entry) => policies !== undefined

/** The overrides of the chain that have not ended at the time `from`. */
function lastingFrom(chain: Chain, from: number): Chain {
  const entries = chain.entries.filter(({ record }) => (record.until ?? Infinity) > from)
  return { ...chain, entries, until: endOf(entries) }
}

/** How many combinations of matching overrides a view remembers at most. For another combination, the policies are derived at each call. */
const mostMatches = 10_000
