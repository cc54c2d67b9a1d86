import { shown } from '../../../src/common/index.ts'
import { CounterStore, checkedLimit, counterStoreOf } from '../counter-store.ts'
import { defined } from '../option-values.ts'
import { policyName, resolved } from './fields.ts'
import { keyByAddress } from './ip-key-generator.ts'
import { type AugmentedRequest, type LegacyStore, type Logger, MINUTE, type Options, type Store } from './types.ts'
import { type Config, Validations } from './validations.ts'

const consoleLogger: Logger = {
  error: (...values) => console.error(...values.reverse()),
  warn: (...values) => console.warn(...values.reverse()),
}

/**
 * Returns the logger unchanged.
 * @throws TypeError unless the logger has the methods `error` and `warn`
 */
function checkedLogger(logger: Logger): Logger {
  if (typeof logger?.error === 'function' && typeof logger.warn === 'function') return logger
  throw new TypeError(`logger must have the methods error and warn, such as console, got ${shown(logger)}.`)
}

export function configOf(given: Partial<Options>): Config {
  const options = defined(given)
  const logger = checkedLogger(options.logger ?? consoleLogger)
  const validations = new Validations(options.validate ?? true, logger)
  const { standardHeaders = false } = options
  const defaults: Omit<Config, 'store'> = {
    windowMs: MINUTE,
    limit: options.max ?? 5,
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    legacyHeaders: options.headers ?? true,
    standardHeaders: false,
    identifier: (request) => policyName((request as AugmentedRequest)[config.requestPropertyName], config.windowMs),
    requestPropertyName: 'rateLimit',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, { statusCode }) => statusCode < 400,
    skip: () => false,
    keyGenerator: (request, response) => keyByAddress(config, request, response),
    ipv6Subnet: 56,
    async handler(request, response) {
      response.status(config.statusCode)
      const message = await resolved(config.message, request, response)
      if (!response.writableEnded) response.send(message)
    },
    passOnStoreError: false,
    validate: validations.enabled,
    logger,
    validations,
  }
  const { limit = defaults.limit, windowMs = MINUTE } = options
  if (typeof limit !== 'function') checkedLimit(limit)
  const config: Config = {
    ...defaults,
    ...options,
    standardHeaders: standardHeaders === true ? 'draft-6' : standardHeaders,
    store: storeOf(options.store ?? undefined, windowMs, options.name),
    validations,
    validate: validations.enabled,
    logger,
  }
  const known = [...Object.keys(defaults), 'store', 'retryAfter', 'max', 'headers', 'name']
  validations.options(given as Record<string, unknown>, [...known, 'draft_polli_ratelimit_headers'])
  validations.creation(config.store)
  if (config.store instanceof CounterStore) validations.window(windowMs)
  return config
}

/**
 * Returns a store with the current interface of express-rate-limit. The option `store` may be a store of headgate, a store of
 * express-rate-limit, or a store with the methods that express-rate-limit required before version 6 (`incr` in place of `increment`).
 */
function storeOf(given: Options['store'] | undefined, windowMs: number, name: string | undefined): Store {
  const own = counterStoreOf(given, windowMs, name)
  if (own !== undefined) return own
  const legacy = given as LegacyStore & Partial<Store>
  if (typeof legacy.incr !== 'function' || typeof legacy.increment === 'function') return checked(given as Store)
  return checked({
    increment: (key) =>
      new Promise((resolve, reject) => {
        legacy.incr(key, (error, totalHits, resetTime) => (error ? reject(error) : resolve({ totalHits, resetTime })))
      }),
    decrement: async (key) => legacy.decrement(key),
    resetKey: async (key) => legacy.resetKey(key),
    resetAll: async () => legacy.resetAll?.(),
  })
}

function checked(store: Store): Store {
  const has = (name: keyof Store, optional: boolean) =>
    typeof store[name] === 'function' || (optional && store[name] === undefined)
  const required = (['increment', 'decrement', 'resetKey'] as const).every((name) => has(name, false))
  if (required && has('resetAll', true) && has('init', true)) return store
  throw new TypeError(
    'The store is invalid: it must have increment, decrement and resetKey, as the interface Store says.',
  )
}
