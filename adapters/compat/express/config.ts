import { shown } from '../../../src/errors.ts'
import { CounterStore, checkedLimit } from '../counter-store.ts'
import { defined } from '../option-values.ts'
import { keyByAddress } from './address-key.ts'
import { policyName, resolved } from './fields.ts'
import { storeOf } from './stores.ts'
import { type AugmentedRequest, type Logger, MINUTE, type Options } from './types.ts'
import { type Config, Validations } from './validations.ts'

const consoleLogger: Logger = {
  error: (...values) => console.error(...values.reverse()),
  warn: (...values) => console.warn(...values.reverse()),
}

/** @throws TypeError unless errors and warnings can be logged */
function checkedLogger(logger: Logger): Logger {
  if (typeof logger?.error === 'function' && typeof logger.warn === 'function') return logger
  throw new TypeError(`logger must have the methods error and warn, such as console, got ${shown(logger)}.`)
}

/** @throws TypeError unless the window is a number, or the text of one */
function checkedWindow(windowMs: number): void {
  if (!Number.isNaN(Number(windowMs))) return
  throw new TypeError(`windowMs must be a number of milliseconds, got ${shown(windowMs)}.`)
}

/** The options with all defaults. */
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
  checkedWindow(windowMs)
  const config: Config = {
    ...defaults,
    ...options,
    standardHeaders: standardHeaders === true ? 'draft-6' : standardHeaders,
    store: storeOf(options.store, windowMs, options.name),
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
