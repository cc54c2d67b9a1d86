import type { MaybePromise } from '../maybe-promise.ts'
import { isPromise } from '../maybe-promise.ts'
import { callback } from '../options.ts'
import type { Framework } from './framework.ts'
import { AddressList } from './keys/address-list.ts'
import type { GuardOptions } from './options.ts'

/** What happens to a request before anything is counted: denied, let pass unlimited, or limited like everybody. */
export type Way = 'deny' | 'pass' | 'limit'

/** Who is limited at all: `deny`, `allow` and `skip`, in this order. A guard that was told none of them has no entry. */
export class Exemptions<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #deny: AddressList | undefined
  readonly #allow: AddressList | undefined
  readonly #skip: GuardOptions<Request, Response>['skip']

  constructor(framework: Framework<Request, Response>, options: GuardOptions<Request, Response>) {
    this.#framework = framework
    this.#deny = options.deny && new AddressList(options.deny, 'deny')
    this.#allow = options.allow && new AddressList(options.allow, 'allow')
    this.#skip = callback(options.skip, 'skip', `(request) => request.url === '/health'`)
  }

  get needed(): boolean {
    return this.#deny !== undefined || this.#allow !== undefined || this.#skip !== undefined
  }

  of(request: Request): MaybePromise<Way> {
    if (this.#deny !== undefined || this.#allow !== undefined) {
      const address = this.#framework.address(request)
      if (this.#deny?.has(address)) return 'deny'
      if (this.#allow?.has(address)) return 'pass'
    }
    if (this.#skip === undefined) return 'limit'
    const skips = this.#skip(request)
    return isPromise(skips) ? skips.then(wayOf) : wayOf(skips)
  }
}

function wayOf(skips: boolean): Way {
  return skips ? 'pass' : 'limit'
}
