import type { MaybePromise } from '../common/index.ts'
import {
  type CheckedLedger,
  type Command,
  type Health,
  type LedgerTerms,
  noCalls,
  type OnFailure,
  type OutcomeOf,
  type Verb,
} from '../stores/contract/index.ts'

/** The ledger of a limiter on one shard. */
export interface ShardLedger extends CheckedLedger {
  health(): Health
  /** The ledger of the same name under other policies. */
  joined(terms: LedgerTerms): ShardLedger
  /** Forgets what the keys spent locally, owe and are owed. */
  forget(keys: readonly string[]): void
  /** Forgets what all keys spent locally and owe. */
  forgetAll(): void
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
export class ShardedLedger implements CheckedLedger {
  readonly #shardOf: ShardOf
  readonly #open: (shard: string) => ShardLedger
  readonly #shards = new Map<string, Shard>()

  constructor(shardOf: ShardOf, open: (shard: string) => ShardLedger) {
    this.#shardOf = shardOf
    this.#open = open
  }

  joined(terms: LedgerTerms): ShardedLedger {
    return new ShardedLedger(this.#shardOf, (shard) => this.#shard(shard, []).ledger.joined(terms))
  }

  /** The ledger of any shard runs a command on all keys, and bans keys in the local quota of all shards. */
  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    const keys = (command.keys as readonly (string | undefined)[]).filter((key) => key !== undefined)
    if (command.verb === 'reset') for (const { ledger } of this.#shards.values()) ledger.forget(keys)
    if (command.verb === 'clear') for (const { ledger } of this.#shards.values()) ledger.forgetAll()
    return this.#of(keys.length === 0 ? [''] : keys).run(command, onFailure)
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

  /** The state of the worst shard, and the sums. A shard that has no keys any more, after a failover, does not count. */
  health(): Health {
    const present = [...this.#shards].filter(([name, { keys }]) => keys.length === 0 || this.#shardOf(keys) === name)
    const all = present.map(([, { ledger }]) => ledger.health())
    const worst = (['open', 'half-open', 'closed'] as const)
      .map((state) => all.find((health) => health.state === state))
      .find((health) => health !== undefined)
    if (worst === undefined) return noCalls()
    const sum = (count: (health: Health) => number) => all.reduce((total, health) => total + count(health), 0)
    const lastError = worst.lastError ?? all.find((health) => health.lastError !== undefined)?.lastError
    return { ...worst, lastError, errors: sum(({ errors }) => errors), owing: sum(({ owing }) => owing) }
  }
}
