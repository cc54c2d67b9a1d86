import { hook, isPromise, type MaybePromise } from '../../common/index.ts'
import type { Framework } from '../framework.ts'
import type { GuardOptions } from '../guard-options.ts'
import { AddressList, addressSource, type FindKey, warnOfNoAddress, watchedAddress } from '../keys/index.ts'

/** The decision of `deny`, `allow` and `skip` about a request, before any policy counts the request. */
export type Exemption = 'denied' | 'exempt' | 'limited'

/** Decides which requests are limited, by the options `deny`, `allow` and `skip`, in this order. */
export class Exemptions<Request, Response> {
  /** Finds the client's address, which is then compared with the lists of `deny` and `allow`. */
  readonly #addressOf: (request: Request) => string | undefined
  readonly #deny: Rule<Request, Response> | undefined
  readonly #allow: AddressList | undefined
  readonly #skip: GuardOptions<Request, Response>['skip']
  /** The names of the options that are functions, for the error of a function that takes too long. */
  readonly functions: string

  constructor(framework: Framework<Request, Response>, options: GuardOptions<Request, Response>) {
    const { deny, allow, skip } = options
    const source = addressSource(options.keys)
    const watches = source?.find === undefined && source?.warns !== false
    this.#addressOf = (request) => (watches ? watchedAddress(request, framework) : framework.address(request))
    if (typeof deny === 'function') this.#deny = deny
    else if (deny !== undefined) this.#deny = listRule(framework, this.#addressOf, deny)
    this.#allow = allow === undefined ? undefined : new AddressList(allow, 'allow')
    this.#skip = hook(`(request) => request.url === '/health'`)(skip, 'skip')
    const functions = Object.entries({ deny, skip }).filter(([, option]) => typeof option === 'function')
    this.functions = functions.map(([name]) => name).join(' or ')
  }

  /** True if the middleware has one of the options `deny`, `allow` and `skip`. If false, every request is limited. */
  get needed(): boolean {
    return [this.#deny, this.#allow, this.#skip].some((rule) => rule !== undefined)
  }

  of(request: Request, response: Response, key: FindKey): MaybePromise<Exemption> {
    const denied = this.#deny?.(request, response, key)
    if (isPromise(denied)) {
      return denied.then((denies) => (denies ? 'denied' : this.#notDenied(request, response, key)))
    }
    return denied ? 'denied' : this.#notDenied(request, response, key)
  }

  #notDenied(request: Request, response: Response, key: FindKey): MaybePromise<Exemption> {
    if (this.#allow?.has(this.#addressOf(request))) return 'exempt'
    if (this.#skip === undefined) return 'limited'
    const skips = this.#skip(request, response, key)
    return isPromise(skips) ? skips.then(skipped) : skipped(skips)
  }
}

type Rule<Request, Response> = (request: Request, response: Response, key: FindKey) => MaybePromise<boolean>

/** A rule for a list of addresses. A request without an address cannot be compared with the list, so such a request is denied. */
function listRule<Request, Response>(
  framework: Framework<Request, Response>,
  addressOf: (request: Request) => string | undefined,
  deny: readonly string[],
): Rule<Request, Response> {
  const list = new AddressList(deny, 'deny')
  return (request) => {
    const address = addressOf(request)
    if (address === undefined) warnOfNoAddress(framework, request)
    return address === undefined || list.has(address)
  }
}

function skipped(skips: boolean): Exemption {
  return skips ? 'exempt' : 'limited'
}
