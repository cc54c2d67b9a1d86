import { HeadgateError, shown } from './errors.ts'

/**
 * Reads one option: checks its value and returns it, or returns the default if the value is undefined.
 * @param name the name of the option in error messages, such as `'redisStore: prefix'`
 * @throws HeadgateError if the value is invalid. Null is invalid too: a setting that could not be found must not become the
 *   default without notice
 */
export type Reader<Value> = (given: unknown, name: string) => Value

/** A reader for each option. An error message lists the options in the order of this table. */
export type Readers<Values> = { readonly [Option in keyof Values]-?: Reader<Values[Option]> }

type Read<Options, Values> = {
  [Option in keyof Values]: unknown extends Values[Option] ? Options[Option & keyof Options] : Values[Option]
}

/**
 * Reads options with a table of readers. The type of each returned value is the type that the option's reader returns.
 *
 *     const { maxKeys, synchronous } = readOptions('aStore', options, { maxKeys: whole(1000), synchronous: flag() })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if an option is unknown, with a message that lists the known options
 * @throws HeadgateError the error of a reader, if a value is invalid
 */
export function readOptions<Options extends object, Values extends Record<keyof Options, unknown>>(
  where: string,
  options: Options,
  readers: Readers<Values>,
): Read<Options, Values> {
  knownOptions(where, options, Object.keys(readers))
  const prefix = where + (where.includes(':') ? '.' : ': ')
  const read: Record<string, unknown> = {}
  for (const option in readers) read[option] = readers[option](Reflect.get(options, option), prefix + option)
  return read as Read<Options, Values>
}

const window = ["window: '15m'", "policies: '100/15m'", "every: 'month'"]
const limit = ['limit: 100', "policies: '100/15m'"]
const refuse = ['refuse: (decision, request, response) => ...']
const keys = ["keys: byHeader('x-api-key')"]
const store = ['store: redisStore({ client })', 'client: new Redis(url)']
const proxies = ['trustedProxies: 1', 'keys: byIp({ trustedProxies: 1 })']
const plans = ['policies: (request) => plans[request.user.plan] in rateLimit']

/**
 * Texts that show what to write for headgate, by the name of the option in other packages. Each text begins with an option of headgate, or
 * with an object such as `pacer.`. The error message has the first text whose option exists where the unknown option was found, or whose
 * object is where it was found.
 */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  ...{ windowMs: window, timeWindow: window, interval: window, duration: window, ttl: window, window },
  ...{ max: limit, points: limit, requests: limit, tokensPerInterval: limit, limit },
  ...{ policy: ["policies: '100/15m'"], plans, plan: plans },
  burst: ["policies: '10/1s token-bucket burst 20'"],
  ...{ message: refuse, statusCode: refuse, handler: refuse, errorMessage: refuse, errorResponseBuilder: refuse },
  ...{ key: keys, keyGenerator: keys, keyPrefix: ["name: 'api'"], prefix: ["name: 'api'"] },
  ...{ trustedProxies: proxies, trustProxy: proxies },
  ...{ platform: ["keys: byIp({ platform: 'cloudflare' })"] },
  ...{ ipv6Prefix: ['keys: byIp({ ipv6Prefix: 64 })'], ipv6Subnet: ['keys: byIp({ ipv6Prefix: 64 })'] },
  ...{ whitelist: ["allow: ['10.0.0.0/8']"], allowList: ["allow: ['10.0.0.0/8']"] },
  ...{ blacklist: ["deny: ['192.0.2.1']"], denyList: ["deny: ['192.0.2.1']"] },
  ...{ skipSuccessfulRequests: ["count: 'failures'"], skipFailedRequests: ["count: 'successes'"] },
  ...{
    standardHeaders: ["headers: 'draft-11'"],
    legacyHeaders: ["headers: 'legacy'"],
    addHeaders: ["headers: 'legacy'"],
    header: ["headers: 'draft-11'"],
  },
  requestPropertyName: ['attach: (decision, request) => ...'],
  onLimitReached: ['onRefused: (event) => ...'],
  ...{ passOnStoreError: ["onStoreError: 'open'"], skipOnError: ["onStoreError: 'open'"] },
  ...{ blockDuration: ["penalty: { after: 5, within: '1h', ban: '1h' }"], redis: store },
  ...{ client: store, storage: store, url: store, ban: ["penalty: { on: 'spent', ban: '1h' }"] },
  maxConcurrent: ['concurrency: 4'],
  timeout: ["runTimeout: '10s'", "pacer.acquire(1, { timeout: '2s' })"],
  shadow: [
    'enforce: 0 to decide and refuse no request. To leave one policy of several unenforced, give that policy its shadow: ' +
      "policies: ['10/1s', fixedWindow({ limit: 100, window: '1h', shadow: true })]",
  ],
}

/** The fix for an unknown option, for the error message. Empty if no known option is similar. */
function fixOf(unknown: string, where: string, options: object, known: readonly string[]): string {
  const [exact] = known.filter((option) => option.toLowerCase() === unknown.toLowerCase())
  const others = Object.hasOwn(otherNames, unknown) ? otherNames[unknown] : undefined
  const isHere = (text: string) =>
    known.includes(text.slice(0, text.indexOf(':'))) || text.startsWith(`${where.toLowerCase()}.`)
  const fix = partGiven(options, known) ?? exact ?? others?.find(isHere)
  return fix === undefined ? '' : `Write ${fix}. `
}

/** Options whose value users pass by mistake in place of the object of options, as in `redisStore(client)`. */
const parts = ['client', 'pool', 'database', 'pacer']

/** The fix if the user passed an object of a class, such as a client of Redis, in place of the options. Undefined for a plain object. */
function partGiven(options: object, known: readonly string[]): string | undefined {
  const prototype = Object.getPrototypeOf(options)
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return undefined
  if (known.some((option) => Object.hasOwn(options, option))) return undefined
  const part = parts.find((option) => known.includes(option))
  return part && `{ ${part} }: an object of a class was given in place of the options`
}

/**
 * Checks that all options are known.
 * @throws HeadgateError `HEADGATE_OPTION` if an option is unknown. The message lists the known options. If other packages have an
 *   option of that name, the message also says what to write
 */
export function knownOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `${where} takes an object of options, got ${shown(options)}. It takes: ${known.join(', ')}.`,
    )
  }
  const unknown = Object.keys(options).find((option) => !known.includes(option))
  if (unknown === undefined) return
  const takes = `${fixOf(unknown, where, options, known)}It takes: ${known.join(', ')}.`
  throw new HeadgateError('HEADGATE_OPTION', `${where} has no option ${shown(unknown)}. ${takes}`)
}

/** Does the same as `knownOptions`, but faster if all options are known: for functions that get options at every call. */
export function callOptions(where: string, options: object, known: readonly string[]): void {
  let wrong = typeof options !== 'object' || options === null || Array.isArray(options)
  for (const option in options) if (!isAmong(known, option)) wrong = true
  if (wrong) knownOptions(where, options, known)
}

/** Does the same as `includes`, which is slower for so few names. */
function isAmong(names: readonly string[], name: string): boolean {
  for (let n = 0; n < names.length; n++) if (names[n] === name) return true
  return false
}
