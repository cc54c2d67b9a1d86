import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import { callback } from '../options.ts'
import type { Framework } from './framework.ts'
import type { GuardOptions } from './guard-options.ts'
import { AddressList } from './keys/address-list.ts'
import { warnOfNoAddress } from './keys/no-address.ts'

/** What happens to a request before anything is counted. */
export type Exemption = 'denied' | 'exempt' | 'limited'

/** Decides which requests are limited at all: by `deny`, `allow` and `skip`, in this order. */
export class Exemptions<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #deny: AddressList | undefined
  readonly #allow: AddressList | undefined
  readonly #skip: GuardOptions<Request, Response>['skip']

  constructor(framework: Framework<Request, Response>, options: GuardOptions<Request, Response>) {
    this.#framework = framework
    this.#deny = addressList(options.deny, 'deny')
    this.#allow = addressList(options.allow, 'allow')
    this.#skip = callback(options.skip, 'skip', `(request) => request.url === '/health'`)
  }

  /** False if every request is limited. */
  get needed(): boolean {
    return this.#deny !== undefined || this.#allow !== undefined || this.#skip !== undefined
  }

  of(request: Request): MaybePromise<Exemption> {
    if (this.#deny !== undefined || this.#allow !== undefined) {
      const address = this.#framework.address(request)
      if (this.#deny !== undefined && this.#isDenied(this.#deny, address, request)) return 'denied'
      if (this.#allow?.has(address)) return 'exempt'
    }
    if (this.#skip === undefined) return 'limited'
    const skips = this.#skip(request)
    return isPromise(skips) ? skips.then(skipped) : skipped(skips)
  }

  /** Without an address, the list cannot be checked. */
  #isDenied(deny: AddressList, address: string | undefined, request: Request): boolean {
    if (address !== undefined) return deny.has(address)
    warnOfNoAddress(this.#framework, request)
    return true
  }
}

function addressList(entries: readonly string[] | undefined, option: string): AddressList | undefined {
  return entries === undefined ? undefined : new AddressList(entries, option)
}

function skipped(skips: boolean): Exemption {
  return skips ? 'exempt' : 'limited'
}
