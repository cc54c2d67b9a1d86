/*
 * What the store reports about keys (the verbs `inspect` and `scan`): the decoded values, and notes on what this process decides
 * without Redis.
 */
import type { KeptKey, KeyPage } from '../../../inspection/index.ts'
import { decodeId, type LedgerTerms } from '../../contract/index.ts'
import type { RedisContext } from '../redis-context.ts'
import { type PackedPlan, policyId } from '../script/index.ts'
import { brokenValue, readRecord, scanRecords } from './record-reader.ts'
import { unpackRecords } from './unpack-records.ts'

const nothing = Buffer.alloc(0)

export class KeptKeys {
  readonly #context: RedisContext
  readonly #plan: PackedPlan
  /** The names of the policies, by the hashes of these names. */
  readonly #names: ReadonlyMap<string, string>

  constructor({ policies }: LedgerTerms, plan: PackedPlan, context: RedisContext) {
    this.#context = context
    this.#plan = plan
    this.#names = hashesOf(policies.map(({ name }) => name))
  }

  /** Reports one caller's states under all policies. @param keys the Redis keys of these states, one for each kind of key (scope) */
  async inspect(keys: readonly string[]): Promise<readonly KeptKey[]> {
    const { batcher, connection } = this.#context
    const found = await batcher.reading(Promise.all(keys.map((key) => readRecord(connection, key))))
    const notes = this.#notes(keys)
    return found.map(({ now, value }, n) => ({ ...this.#keptOf(keys[n] as string, value, now), notes }))
  }

  /**
   * The next page of keys of one kind (scope).
   * @param start the prefix of these keys
   * @param from the field `next` of the last page, if any
   */
  async list(start: string, from: unknown): Promise<KeyPage> {
    const { batcher, connection } = this.#context
    const { values, next } = await batcher.reading(scanRecords(connection, `${start}*}`, from))
    const keys = values.flatMap(({ key, now, value }) => {
      if (value === undefined) return []
      try {
        return { ...decodeId(key.slice(start.length, -1)), kept: this.#keptOf(key, value, now) }
      } catch {
        return [] // not a value of headgate: decisions ignore this key too
      }
    })
    return { keys, next }
  }

  #keptOf(key: string, value: Buffer | undefined, storeTime: number): KeptKey {
    const now = this.#context.clock?.() ?? storeTime
    try {
      return { now, ...unpackRecords(value ?? nothing, this.#names) }
    } catch (cause) {
      throw brokenValue(key, cause)
    }
  }

  /**
   * Notes for people, if this process answers calls on these keys without Redis: by a cached refusal or leased units (taken in advance).
   */
  #notes(keys: readonly string[]): string[] {
    const { leases, refusalCache } = this.#context
    const lease = leases?.find(keys)
    const refusal = refusalCache?.find(keys)
    const notes: string[] = []
    if (lease !== undefined && lease.plan === this.#plan && lease.units > 0) {
      notes.push(
        `This process holds ${lease.units} of the used units ahead (leases), and admits that many without asking Redis.`,
      )
    }
    if (refusal !== undefined) {
      const left = Math.ceil((refusal.until - (refusalCache?.foundAt ?? 0)) / 1000)
      notes.push(`This process repeats a refusal of the key for up to ${left} ms without asking Redis (refusalCache).`)
    }
    return notes
  }
}

/** The names of policies, by the hashes of the names. A value in Redis has the hash of a policy's name, not the name. */
export function hashesOf(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [policyId({ name }).toString('hex'), name]))
}
