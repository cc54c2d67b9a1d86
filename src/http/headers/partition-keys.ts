import { hmacSha256 } from '#platform'
import { base64, HeadgateError, knownOptions, shown } from '../../common/index.ts'
import type { Key } from '../../limiter/index.ts'

/** The options of `pk`, the partition key in the fields of draft-8 and draft-11. */
export interface PartitionKeyOptions {
  /** A secret of at least 16 characters, the same in every process of the service. Example: `process.env.RATE_SALT`. */
  salt: string
}

/**
 * Computes the parameter `pk` of a field, which identifies the quota of a key. With `pk`, a client with several keys can
 * distinguish their quotas. `pk` is an HMAC-SHA256 of the key, shortened to 9 bytes. Without the salt, nobody can find the key of a
 * `pk` by trying many keys.
 */
export class PartitionKeys {
  readonly #salt: string

  /** Reads the salt. @throws HeadgateError `HEADGATE_OPTION` if the salt has fewer than 16 characters */
  constructor(options: PartitionKeyOptions) {
    knownOptions('headers.pk', options, ['salt'])
    if (typeof options.salt !== 'string' || options.salt.length < 16) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `headers.pk: salt must be a secret text of at least 16 characters, got ${typeof options.salt === 'string' ? 'a shorter one' : shown(options.salt)}. ` +
          `Give pk: { salt: process.env.RATE_LIMIT_SALT }.`,
      )
    }
    this.#salt = options.salt
  }

  /**
   * The parameter `pk` for a key in a scope (kind of key), as text. The value is a Byte Sequence of a Structured Field (RFC 9651, 4.1.8).
   */
  of(key: Key, scope: string): string {
    const own = typeof key === 'string' ? key : (key[scope] as string)
    return `;pk=:${base64(hmacSha256(this.#salt, `${scope}\n${own}`).subarray(0, 9))}:`
  }
}
