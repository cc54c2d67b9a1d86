import { check } from '../common/index.ts'
import type { Key } from '../limiter/index.ts'

const isShare = (given: unknown) => typeof given === 'number' && given >= 0 && given <= 1
const shareOf = check(isShare, 'a share of the keys from 0 to 1', '0.1', 1)

/** Which keys refusals are enforced for: all, none, or a share that always has the same keys. */
export class Enforcement {
  readonly #share: number

  /** @throws HeadgateError `HEADGATE_OPTION` for a share outside 0 to 1 */
  constructor(enforce: number | undefined) {
    this.#share = shareOf(enforce, 'enforce')
  }

  /** True if a refusal of this key is enforced. */
  appliesTo(key: Key): boolean {
    if (this.#share === 1) return true
    return this.#share > 0 && position(key) < this.#share
  }
}

/** A number from 0 to 1 for each key, the same in every process. A larger share includes all keys of a smaller one. */
function position(key: Key): number {
  const text =
    typeof key === 'string'
      ? key
      : Object.keys(key)
          .sort()
          .map((scope) => key[scope])
          .join('\n')
  return mix(fnv1a(text)) / 2 ** 32
}

/** FNV-1a of 32 bits (draft-eastlake-fnv), over UTF-16 code units. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  return hash
}

/** The finaliser of MurmurHash3. With FNV-1a alone, keys that differ in their last letter have the same high bits. */
function mix(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
