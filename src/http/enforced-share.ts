import { check } from '../common/index.ts'
import type { Key } from '../limiter/index.ts'

const isShare = (given: unknown) => typeof given === 'number' && given >= 0 && given <= 1
const shareOf = check(isShare, 'a share of the keys from 0 to 1', '0.1', 1)

/** Decides whether refusals of a key are enforced: for all keys, for none, or for a share of the keys, always the same ones. */
export class Enforcement {
  readonly #share: number

  /** Checks the option `enforce`. @throws HeadgateError `HEADGATE_OPTION` if the share is not from 0 to 1 */
  constructor(enforce: number | undefined) {
    this.#share = shareOf(enforce, 'enforce')
  }

  /** True if refusals of this key are enforced. */
  appliesTo(key: Key): boolean {
    if (this.#share === 1) return true
    return this.#share > 0 && position(key) < this.#share
  }
}

/**
 * A number from 0 to 1 for a key, the same in every process. Refusals are enforced for the keys whose number is below the share, so
 * a larger share contains all keys of a smaller share.
 */
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

/** The hash FNV-1a with 32 bits (draft-eastlake-fnv), of the UTF-16 code units of a text. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  return hash
}

/** The last steps of MurmurHash3. Without these steps, keys that differ only in their last letter would get nearly the same number. */
function mix(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
