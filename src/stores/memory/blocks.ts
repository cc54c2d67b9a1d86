import {
  type Block,
  blockAt,
  type CallBlock,
  callBlock,
  isPast,
  longerBlock,
  newBlock,
} from '../../algorithms/block.ts'
import { HeadgateError } from '../../errors.ts'
import type { BanTerms } from '../command.ts'
import { keyName } from './key-name.ts'

/** The most blocked keys of a limiter, at about 200 bytes each. */
const maxBlocks = 100_000

/** How often all of them are looked at, in microseconds, if there is no space for another. */
const sweepEvery = 1_000_000

type Keys = readonly (string | undefined)[]

/**
 * The blocked keys of a limiter in memory, apart from its states: no key that comes can evict a block. One that is over is
 * removed when its key comes, or when there is no space.
 */
export class Blocks {
  readonly #byScope = new Map<string, Map<string, Block>>()
  /** How many there are. Test it first: most limiters have none. */
  size = 0
  #sweptAt = -Infinity

  /**
   * @param keys one for each scope; undefined for a scope that is left alone
   * @throws HeadgateError `HEADGATE_BLOCK` if too many keys are blocked
   */
  set(scopes: readonly string[], keys: Keys, now: number, { duration, reason }: BanTerms): void {
    if (this.size + keys.length > maxBlocks) this.#makeSpace(this.#newOf(scopes, keys), now)
    const block = newBlock(now, duration, reason)
    this.#each(scopes, keys, (blocks, name) => {
      if (!blocks.has(name)) this.size++
      blocks.set(name, block)
    })
  }

  delete(scopes: readonly string[], keys: Keys): void {
    if (this.size === 0) return
    this.#each(scopes, keys, (blocks, name) => {
      if (blocks.delete(name)) this.size--
    })
  }

  clear(): void {
    this.#byScope.clear()
    this.size = 0
  }

  /** The longest block of these keys; undefined if none is blocked. @param writes false for a call that may write nothing */
  find(scopes: readonly string[], keys: readonly string[], now: number, writes: boolean): CallBlock | undefined {
    if (this.size === 0) return undefined
    let longest: CallBlock | undefined
    for (const [n, scope] of scopes.entries()) {
      const block = this.#find(scope, keyName(keys[n] as string), now, writes)
      if (block !== undefined) longest = longerBlock(longest, callBlock(scope, block, now))
    }
    return longest
  }

  /** The block of a key, for those who only look. @param name what `keyName` gives for the key */
  look(scope: string, name: string): Block | undefined {
    return this.#byScope.get(scope)?.get(name)
  }

  /** The names of the blocked keys. */
  names(scope: string): readonly string[] {
    return [...(this.#byScope.get(scope)?.keys() ?? [])]
  }

  #find(scope: string, name: string, now: number, writes: boolean): Block | undefined {
    const blocks = this.#byScope.get(scope)
    const known = blocks?.get(name)
    if (blocks === undefined || known === undefined) return undefined
    const block = blockAt(known, now)
    if (isPast(known, now) && blocks.delete(name)) this.size--
    else if (block !== undefined && writes) blocks.set(name, block)
    return block
  }

  #each(scopes: readonly string[], keys: Keys, change: (blocks: Map<string, Block>, name: string) => void): void {
    for (const [n, scope] of scopes.entries()) {
      const key = keys[n]
      if (key === undefined) continue
      const blocks = this.#byScope.get(scope) ?? new Map<string, Block>()
      this.#byScope.set(scope, blocks)
      change(blocks, keyName(key))
    }
  }

  #newOf(scopes: readonly string[], keys: Keys): number {
    let added = 0
    this.#each(scopes, keys, (blocks, name) => {
      if (!blocks.has(name)) added++
    })
    return added
  }

  #makeSpace(keys: number, now: number): void {
    if (this.size + keys <= maxBlocks) return
    if (Math.abs(now - this.#sweptAt) >= sweepEvery) this.#sweep(now)
    if (this.size + keys <= maxBlocks) return
    throw new HeadgateError(
      'HEADGATE_BLOCK',
      `A store in memory has ${this.size} blocked keys of this limiter, and ${maxBlocks} is the most. Unblock some, or use redisStore.`,
    )
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    for (const [scope, blocks] of this.#byScope) for (const name of blocks.keys()) this.#find(scope, name, now, true)
  }
}
