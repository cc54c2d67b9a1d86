import { getOrInsert, type MaybePromise } from '../common/index.ts'
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
  /** Forgets what the keys spent locally, what they owe and what they are owed. */
  forget(keys: readonly string[]): void
  /** Forgets what all keys spent locally and what they owe. */
  forgetAll(): void
}

interface Shard {
  readonly ledger: ShardLedger
  /** The keys of the shard's last call. */
  keys: readonly string[]
}

type ShardOf = (keys: readonly string[]) => string

/**
 * A ledger of a store in parts (shards), such as the nodes of Redis Cluster. Each shard has its own circuit breaker and debts.
 * While one shard fails, this process decides about its keys, and the other shards decide as before. A call on keys of several
 * shards counts as a call on a shard of its own.
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

  /** Runs a command on all keys, or a ban, on the ledger of any shard: all shards share one local quota. */
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
    return getOrInsert(this.#shards, name, () => ({ ledger: this.#open(name), keys }))
  }

  /** The state of the worst shard, and sums over all shards. A shard that lost its keys in a failover does not count. */
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
