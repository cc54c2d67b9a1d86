import {
  banAt,
  type CallBan,
  isPast,
  laterBan,
  longestBan,
  makeSpace,
  newBan,
  type StoredBan,
} from '../../algorithms/bans/index.ts'
import { ownText } from '../../common/index.ts'
import type { BanTerms } from '../contract/index.ts'
import { keyName } from './key-name.ts'

type Scopes = readonly { readonly name: string }[]
type Keys = readonly (string | undefined)[]

/**
 * The banned keys of a limiter in memory. Bans are stored apart from the states, so that a new key cannot evict a ban. A ban that is over
 * is removed when the next call with its key comes, or when there is no space for another ban.
 */
export class MemoryBans {
  /** Each ban, by an id that `idOf` makes from the scope (kind of key) and the key. */
  readonly #bans = new Map<string, StoredBan>()
  #sweptAt = -Infinity

  /**
   * How many bans are stored. Callers test this number before they look for a ban, because most limiters have no ban and the
   * test is cheap.
   */
  get size(): number {
    return this.#bans.size
  }

  /**
   * @param keys for each scope (kind of key, such as user), the key to ban, or undefined
   * @throws HeadgateError `HEADGATE_BAN` if too many keys would then be banned
   */
  set(scopes: Scopes, keys: Keys, now: number, { duration, reason, extends: keeps = false }: BanTerms): void {
    const ids = idsOf(scopes, keys)
    const more = ids.filter((id) => !this.#bans.has(id)).length
    makeSpace(this.#bans, more, now, this.#sweptAt, () => this.#sweep(now))
    const ban = newBan(now, duration, reason)
    for (const id of ids) this.#bans.set(ownText(id), keeps ? laterBan(this.#find(id, now, true), ban) : ban)
  }

  delete(scopes: Scopes, keys: Keys): void {
    if (this.size > 0) for (const id of idsOf(scopes, keys)) this.#bans.delete(id)
  }

  clear(): void {
    this.#bans.clear()
  }

  /**
   * The longest ban of these keys; undefined if no key is banned.
   * @param writes true to store a ban that begins again, with its full duration, because the clock has gone far back
   */
  find(scopes: Scopes, keys: readonly string[], now: number, writes: boolean): CallBan | undefined {
    return longestBan(scopes, now, ({ name }, n) => this.#find(idOf(name, keyName(keys[n] as string)), now, writes))
  }

  /** The stored ban of a key. Does not change or remove the ban. @param name the result of `keyName` for the key */
  look(scope: string, name: string): StoredBan | undefined {
    return this.#bans.get(idOf(scope, name))
  }

  /** The names of the banned keys of a scope (kind of key, such as users). */
  names(scope: string): readonly string[] {
    const start = idOf(scope, '')
    return [...this.#bans.keys()].filter((id) => id.startsWith(start)).map((id) => id.slice(start.length))
  }

  #find(id: string, now: number, writes: boolean): StoredBan | undefined {
    const known = this.#bans.get(id)
    if (known === undefined) return undefined
    const ban = banAt(known, now)
    if (isPast(known, now)) this.#bans.delete(id)
    else if (ban !== undefined && writes) this.#bans.set(id, ban)
    return ban
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    for (const [id, ban] of this.#bans) if (banAt(ban, now) === undefined) this.#bans.delete(id)
  }
}

function idsOf(scopes: Scopes, keys: Keys): readonly string[] {
  return scopes.flatMap(({ name }, n) => {
    const key = keys[n]
    return key === undefined ? [] : idOf(name, keyName(key))
  })
}

/** The id begins with the length of the scope's name, so that two different pairs of scope and key never have the same id. */
function idOf(scope: string, name: string): string {
  return `${scope.length}:${scope}${name}`
}
