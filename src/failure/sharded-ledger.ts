import type { Costs } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import { cannotBlock, cannotClear, cannotShow } from '../errors.ts'
import type { KeptKey, KeyPage } from '../inspection/kept-key.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions } from '../stores/store.ts'
import type { Health } from './health.ts'

/** The ledger of a limiter on one shard. */
export interface ShardLedger extends Ledger {
  vary(terms: LedgerTerms): ShardLedger
  /** Forgets what the keys spent locally, owe and are owed. */
  forget(keys: readonly string[]): void
  /** Forgets what all keys spent locally and owe. */
  forgetAll(): void
  health(): Health
}

interface Shard {
  readonly ledger: ShardLedger
  /** Those of its last call. */
  keys: readonly string[]
}

type ShardOf = (keys: readonly string[]) => string

/**
 * A ledger of a store in parts, such as the nodes of Redis Cluster. Each part has a circuit breaker and debts of its own, so
 * a part that fails is decided for locally while the others decide as ever. A call on keys of several parts counts as one on a
 * part of its own.
 */
export class ShardedLedger implements Ledger {
  readonly #shardOf: ShardOf
  readonly #open: (shard: string) => ShardLedger
  readonly #shards = new Map<string, Shard>()

  constructor(shardOf: ShardOf, open: (shard: string) => ShardLedger) {
    this.#shardOf = shardOf
    this.#open = open
  }

  vary(terms: LedgerTerms): Ledger {
    return new ShardedLedger(this.#shardOf, (shard) => this.#shard(shard, []).ledger.vary(terms))
  }

  #of(keys: readonly string[]): ShardLedger {
    const shard = this.#shard(this.#shardOf(keys), keys)
    shard.keys = keys
    return shard.ledger
  }

  #shard(name: string, keys: readonly string[]): Shard {
    let shard = this.#shards.get(name)
    if (shard === undefined) {
      shard = { ledger: this.#open(name), keys }
      this.#shards.set(name, shard)
    }
    return shard
  }

  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, extras?: DecideOptions): MaybePromise<Decision> {
    return this.#of(keys).decide(verb, keys, costs, extras)
  }

  reserve(keys: readonly string[], costs: Costs, maxWait: number, extras?: ReserveOptions): MaybePromise<Booking> {
    return this.#of(keys).reserve(keys, costs, maxWait, extras)
  }

  reset(keys: readonly string[]): MaybePromise<void> {
    for (const { ledger } of this.#shards.values()) ledger.forget(keys)
    return this.#of(keys).reset(keys)
  }

  /** The local quota, where the keys are blocked too, is one for all shards. */
  async block(keys: readonly (string | undefined)[], duration: number, reason: string | undefined): Promise<void> {
    const { ledger } = this.#shard(this.#shardOf(present(keys)), [])
    if (ledger.block === undefined) throw cannotBlock()
    await ledger.block(keys, duration, reason)
  }

  async unblock(keys: readonly (string | undefined)[]): Promise<void> {
    const { ledger } = this.#shard(this.#shardOf(present(keys)), [])
    if (ledger.unblock === undefined) throw cannotBlock()
    await ledger.unblock(keys)
  }

  /** The ledger of any shard clears all of them. */
  async clear(): Promise<void> {
    for (const { ledger } of this.#shards.values()) ledger.forgetAll()
    const { ledger } = this.#shard(this.#shardOf(['']), [])
    if (ledger.clear === undefined) throw cannotClear()
    await ledger.clear()
  }

  inspect(keys: readonly string[]): MaybePromise<readonly KeptKey[]> {
    const { ledger } = this.#shard(this.#shardOf(keys), keys)
    if (ledger.inspect === undefined) throw cannotShow('inspect')
    return ledger.inspect(keys)
  }

  /** The keys of all shards, which the ledger of any shard lists. */
  list(scope: string, from: unknown): MaybePromise<KeyPage> {
    const { ledger } = this.#shard(this.#shardOf(['']), [])
    if (ledger.list === undefined) throw cannotShow('list')
    return ledger.list(scope, from)
  }

  /** The state of the worst shard, and the sums. A shard that has no keys any more, after a failover, does not count. */
  health(): Health | undefined {
    const present = [...this.#shards].filter(([name, { keys }]) => keys.length === 0 || this.#shardOf(keys) === name)
    const all = present.map(([, { ledger }]) => ledger.health())
    const worst = (['open', 'half-open', 'closed'] as const)
      .map((state) => all.find((health) => health.state === state))
      .find((health) => health !== undefined)
    if (worst === undefined) return undefined
    const sum = (count: (health: Health) => number) => all.reduce((total, health) => total + count(health), 0)
    const lastError = worst.lastError ?? all.find((health) => health.lastError !== undefined)?.lastError
    return { ...worst, lastError, errors: sum(({ errors }) => errors), owing: sum(({ owing }) => owing) }
  }
}

function present(keys: readonly (string | undefined)[]): readonly string[] {
  return keys.filter((key) => key !== undefined)
}
