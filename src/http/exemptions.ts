import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import { hook } from '../option-readers.ts'
import type { Framework } from './framework.ts'
import type { GuardOptions } from './guard-options.ts'
import { AddressList } from './keys/address-list.ts'
import type { FindKey } from './keys/key-extractor.ts'
import { warnOfNoAddress } from './keys/no-address.ts'

/** What happens to a request before anything is counted. */
export type Exemption = 'denied' | 'exempt' | 'limited'

/** Decides which requests are limited at all: by `deny`, `allow` and `skip`, in this order. */
export class Exemptions<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #denied: AddressList | undefined
  readonly #deny: Rule<Request, Response> | undefined
  readonly #allow: AddressList | undefined
  readonly #skip: GuardOptions<Request, Response>['skip']

  constructor(framework: Framework<Request, Response>, options: GuardOptions<Request, Response>) {
    const { deny } = options
    this.#framework = framework
    this.#denied = typeof deny === 'function' ? undefined : addressList(deny, 'deny')
    this.#deny = typeof deny === 'function' ? deny : undefined
    this.#allow = addressList(options.allow, 'allow')
    this.#skip = hook(`(request) => request.url === '/health'`)(options.skip, 'skip')
  }

  /** False if every request is limited. */
  get needed(): boolean {
    return [this.#denied, this.#deny, this.#allow, this.#skip].some((rule) => rule !== undefined)
  }

  of(request: Request, response: Response, key: FindKey): MaybePromise<Exemption> {
    const denied = this.#deny?.(request, response, key)
    if (isPromise(denied)) {
      return denied.then((denies) => (denies ? 'denied' : this.#notDenied(request, response, key)))
    }
    return denied ? 'denied' : this.#notDenied(request, response, key)
  }

  /** By the lists, and by `skip`. */
  #notDenied(request: Request, response: Response, key: FindKey): MaybePromise<Exemption> {
    if (this.#denied !== undefined || this.#allow !== undefined) {
      const address = this.#framework.address(request)
      if (this.#denied !== undefined && this.#isDenied(this.#denied, address, request)) return 'denied'
      if (this.#allow?.has(address)) return 'exempt'
    }
    if (this.#skip === undefined) return 'limited'
    const skips = this.#skip(request, response, key)
    return isPromise(skips) ? skips.then(skipped) : skipped(skips)
  }

  /** Without an address, the list cannot be checked. */
  #isDenied(deny: AddressList, address: string | undefined, request: Request): boolean {
    if (address !== undefined) return deny.has(address)
    warnOfNoAddress(this.#framework, request)
    return true
  }
}

type Rule<Request, Response> = (request: Request, response: Response, key: FindKey) => MaybePromise<boolean>

function addressList(entries: readonly string[] | undefined, option: string): AddressList | undefined {
  return entries === undefined ? undefined : new AddressList(entries, option)
}

function skipped(skips: boolean): Exemption {
  return skips ? 'exempt' : 'limited'
}
