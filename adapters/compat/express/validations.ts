import { isIP } from 'node:net'
import type { Request } from 'express'
import { getOrInsert, longestWindow, shown } from '../../../src/common/index.ts'
import type { Logger, Options, Store } from './types.ts'
import { type EnabledValidations, type ValidationName, validationNames } from './validation-names.ts'

class ValidationError extends Error {
  readonly code: string
  readonly help: string

  constructor(name: string, code: string, message: string) {
    const help = `https://express-rate-limit.github.io/${code}/`
    super(`${message} See ${help} for more information.`)
    this.name = name
    this.code = code
    this.help = help
  }
}

const usedStores = new WeakSet<object>()
const countedKeys = new WeakMap<object, Set<string>>()

/** The functions with which Express 4 and Express 5 call a handler, as the stack of an error names these functions. */
const handlerCalls = ['Layer.handle [as handle_request]', 'Layer.handleRequest']

/**
 * Looks for mistakes in how an application uses the limiter. Each validation runs once: when the limiter is made, or at the limiter's
 * first request. If a validation throws, the error is logged, and the request continues.
 */
export class Validations {
  readonly enabled: EnabledValidations
  readonly #logger: Logger
  #sawAddress = false
  #sawCount = false

  constructor(validate: boolean | EnabledValidations, logger: Logger) {
    this.enabled = typeof validate === 'boolean' ? { default: validate } : { default: true, ...validate }
    this.#logger = logger
  }

  disable(): void {
    for (const name of Object.keys(this.enabled)) this.enabled[name as ValidationName] = false
  }

  /** True if the validation is enabled and has not run yet. */
  due(name: ValidationName): boolean {
    return this.enabled[name] ?? this.enabled.default ?? true
  }

  warn(name: ValidationName, wrong: unknown, code: string, message: string): void {
    if (!this.due(name)) return
    this.enabled[name] = false
    if (!wrong) return
    if (code.startsWith('WRN')) this.#logger.warn(new ValidationError('ChangeWarning', code, message))
    else this.#logger.error(new ValidationError('ValidationError', code, message))
  }

  /**
   * Runs validations that read a request, and logs the error if a validation throws. A validation can throw because the request is a
   * mock, or because it belongs to another framework.
   */
  #look(names: readonly ValidationName[], validations: () => void): void {
    if (!names.some((name) => this.due(name))) return
    try {
      validations()
    } catch (error) {
      this.#logger.error(error)
    }
  }

  options(given: Partial<Options> & Record<string, unknown>, known: readonly string[]): void {
    const names = Object.keys(typeof given.validate === 'object' ? (given.validate ?? {}) : {})
    const unknownNames = names.filter((name) => !(validationNames as readonly string[]).includes(name))
    const unknown = Object.keys(given).filter((option) => !known.includes(option))
    const { draft_polli_ratelimit_headers: polli, onLimitReached, ipv6Subnet } = given
    this.warn('validationsConfig', unknownNames[0], 'ERR_ERL_UNKNOWN_VALIDATION', `validate has no ${unknownNames[0]}.`)
    this.warn('knownOptions', unknown[0], 'ERR_ERL_UNKNOWN_OPTION', `There is no option ${unknown[0]}.`)
    this.warn('draftPolliHeaders', polli, 'WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS', 'Write standardHeaders instead.')
    this.warn('onLimitReached', onLimitReached, 'WRN_ERL_DEPRECATED_ON_LIMIT_REACHED', 'Use handler instead.')
    if (typeof ipv6Subnet !== 'function') this.subnet(ipv6Subnet)
    const both = ipv6Subnet !== undefined && given.keyGenerator !== undefined
    this.warn(
      'ipv6SubnetOrKeyGenerator',
      both,
      'ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR',
      'Pass ipv6Subnet or keyGenerator.',
    )
  }

  creation(store: Store): void {
    this.#look(['creationStack'], () => {
      const { stack = '' } = new Error('where the limiter is made')
      const inHandler = handlerCalls.some((call) => stack.includes(call))
      const once = 'Make the limiter when the application starts. One that is made for each request has its own counts.'
      this.warn('creationStack', inHandler, 'ERR_ERL_CREATED_IN_REQUEST_HANDLER', once)
    })
    const reused = usedStores.has(store)
    if (this.due('unsharedStore')) usedStores.add(store)
    this.warn('unsharedStore', reused, 'ERR_ERL_STORE_REUSE', 'Give each limiter a store of its own.')
  }

  /**
   * Checks `windowMs` for a store in memory and for a store of headgate. For any other store, `windowMs` is not checked,
   * because that store may accept other windows.
   */
  window(milliseconds: unknown): void {
    const fits = typeof milliseconds === 'number' && milliseconds >= 1 && milliseconds <= longestWindow
    const range = `windowMs should be a number from 1 to ${longestWindow}, got ${shown(milliseconds)}.`
    this.warn('windowMs', !fits, 'ERR_ERL_WINDOW_MS', range)
  }

  subnet(bits: unknown): void {
    const fits = bits === undefined || bits === false || (Number.isInteger(bits) && +bits! >= 32 && +bits! <= 64)
    this.warn('ipv6Subnet', !fits, 'ERR_ERL_IPV6_SUBNET', 'ipv6Subnet should be from 32 to 64 bits.')
  }

  address(request: Request): void {
    if (this.#sawAddress) return
    this.#sawAddress = true
    this.#look(['ip', 'trustProxy', 'xForwardedForHeader', 'forwardedHeader'], () => this.#lookAtAddress(request))
  }

  /**
   * Looks for mistakes in how the application gets the client's address. Any property may be missing: a request of another framework
   * has no `app`, and a mock may have no `headers`.
   */
  #lookAtAddress({ ip, headers, app, socket }: Partial<Request>): void {
    if (ip === undefined) this.warn('ip', true, 'ERR_ERL_UNDEFINED_IP_ADDRESS', 'request.ip is undefined.')
    this.warn('ip', !isIP(ip ?? ''), 'ERR_ERL_INVALID_IP_ADDRESS', `request.ip is no address: ${ip}.`)
    const trusted: unknown = app?.get?.('trust proxy')
    const everybody = 'Every proxy is trusted, so a client can claim any address.'
    this.warn('trustProxy', trusted === true, 'ERR_ERL_PERMISSIVE_TRUST_PROXY', everybody)
    const untrusted = headers?.['x-forwarded-for'] !== undefined && trusted === false
    const nobody = "X-Forwarded-For is set, but 'trust proxy' is not."
    this.warn('xForwardedForHeader', untrusted, 'ERR_ERL_UNEXPECTED_X_FORWARDED_FOR', nobody)
    const ignored = headers?.forwarded !== undefined && ip === socket?.remoteAddress
    this.warn('forwardedHeader', ignored, 'ERR_ERL_FORWARDED_HEADER', 'The field Forwarded is ignored.')
  }

  count(request: Request, store: Store, key: string, hits: unknown): void {
    if (this.#sawCount) return
    this.#sawCount = true
    const positive = Number.isInteger(hits) && (hits as number) >= 1
    const none = `The store returned ${shown(hits)} as totalHits. Only a number above the limit refuses a request.`
    this.warn('positiveHits', !positive, 'ERR_ERL_INVALID_HITS', none)
    this.#look(['singleCount'], () => {
      const counted = getOrInsert(countedKeys, request, () => new Set<string>())
      const name = `${placeOf(store)} ${store.prefix ?? ''}${key}`
      this.warn('singleCount', counted.has(name), 'ERR_ERL_DOUBLE_COUNT', `A request was counted twice: ${key}.`)
      counted.add(name)
    })
  }
}

/**
 * A text that says where the keys of a store are: a number for each store in memory, and the name of the class for any other store.
 * Stores with the same text may share keys, because two stores of one class may use the same server.
 */
function placeOf(store: Store): string {
  return store.localKeys ? getOrInsert(places, store, () => `#${++placeCount}`) : store.constructor.name
}

const places = new WeakMap<Store, string>()
let placeCount = 0

/** All options with their defaults filled in. `store` has the interface of the current version of express-rate-limit. */
export type Config = Options & { store: Store; validations: Validations }
