import { type Block, blockAt, type CallBlock, isPast, longestBlock, newBlock } from '../../algorithms/bans/index.ts'
import { HeadgateError } from '../../common/index.ts'
import type { BanTerms } from '../contract/index.ts'
import { keyName } from './key-name.ts'

/** The most blocked keys of a limiter, at about 200 bytes each. */
const maxBlocks = 100_000

/** How often all of them are looked at, in microseconds, if there is no space for another. */
const sweepEvery = 1_000_000

type Scopes = readonly { readonly name: string }[]
type Keys = readonly (string | undefined)[]

/**
 * The blocked keys of a limiter in memory, apart from its states: no key that comes can evict a block. One that is over is
 * removed when its key comes, or when there is no space.
 */
export class Blocks {
  /** By scope and key. */
  readonly #blocks = new Map<string, Block>()
  #sweptAt = -Infinity

  /** How many there are. Test it first: most limiters have none. */
  get size(): number {
    return this.#blocks.size
  }

  /**
   * @param keys one for each scope; undefined for a scope that is left alone
   * @throws HeadgateError `HEADGATE_BLOCK` if too many keys are blocked
   */
  set(scopes: Scopes, keys: Keys, now: number, { duration, reason }: BanTerms): void {
    const ids = idsOf(scopes, keys)
    this.#makeSpace(ids.filter((id) => !this.#blocks.has(id)).length, now)
    const block = newBlock(now, duration, reason)
    for (const id of ids) this.#blocks.set(id, block)
  }

  delete(scopes: Scopes, keys: Keys): void {
    if (this.size > 0) for (const id of idsOf(scopes, keys)) this.#blocks.delete(id)
  }

  clear(): void {
    this.#blocks.clear()
  }

  /** The longest block of these keys; undefined if none is blocked. @param writes false for a call that may write nothing */
  find(scopes: Scopes, keys: readonly string[], now: number, writes: boolean): CallBlock | undefined {
    return longestBlock(scopes, now, ({ name }, n) => this.#find(idOf(name, keyName(keys[n] as string)), now, writes))
  }

  /** The block of a key, for those who only look. @param name what `keyName` gives for the key */
  look(scope: string, name: string): Block | undefined {
    return this.#blocks.get(idOf(scope, name))
  }

  /** The names of the blocked keys. */
  names(scope: string): readonly string[] {
    const start = idOf(scope, '')
    return [...this.#blocks.keys()].filter((id) => id.startsWith(start)).map((id) => id.slice(start.length))
  }

  #find(id: string, now: number, writes: boolean): Block | undefined {
    const known = this.#blocks.get(id)
    if (known === undefined) return undefined
    const block = blockAt(known, now)
    if (isPast(known, now)) this.#blocks.delete(id)
    else if (block !== undefined && writes) this.#blocks.set(id, block)
    return block
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
    for (const id of this.#blocks.keys()) this.#find(id, now, true)
  }
}

function idsOf(scopes: Scopes, keys: Keys): readonly string[] {
  return scopes.flatMap(({ name }, n) => {
    const key = keys[n]
    return key === undefined ? [] : idOf(name, keyName(key))
  })
}

/** The length keeps the ids of two scopes apart, whatever characters are in them. */
function idOf(scope: string, name: string): string {
  return `${scope.length}:${scope}${name}`
}
