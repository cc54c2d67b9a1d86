import { HeadgateError } from '../../common/index.ts'
import { defaultScope } from '../../policy/index.ts'
import type { Framework } from '../framework.ts'
import type { KeyExtractor, RequestView } from './key-extractor.ts'
import type { FindClient } from './platform-address.ts'

/** How a key extractor finds the client's address. */
interface AddressSource {
  /**
   * Reads the address from a request field, for `byIp({ platform })` and `byIp({ trustedProxies })`. Undefined if the framework does so.
   */
  readonly find?: FindClient | undefined
  /** True if a platform sets the field. A platform also reports the address in a runtime that knows no addresses. */
  readonly isPlatform?: boolean
  /** False if the application has turned off the warnings, with `byIp({ warn: false })`. */
  readonly warns?: boolean
}

/**
 * How each key extractor that needs the client's address finds the address. An extractor of `combine` needs the address if one of its
 * extractors needs the address.
 */
const sources = new WeakMap<KeyExtractor<never, never>, AddressSource>()

/** Records how a key extractor finds the client's address. Returns the extractor. */
export function readsAddress<Extractor extends KeyExtractor<never, never>>(
  extractor: Extractor,
  source: AddressSource | undefined,
): Extractor {
  if (source !== undefined) sources.set(extractor, source)
  return extractor
}

/** The option `keys` of a middleware. */
type KeysOption<Request, Response> =
  | KeyExtractor<Request, Response>
  | Readonly<Record<string, KeyExtractor<Request, Response>>>
  | undefined

/** The option `keys`, or a list of key extractors. */
type Keys<Request, Response> = KeysOption<Request, Response> | readonly KeyExtractor<Request, Response>[]

/**
 * How these key extractors find the client's address. If the extractors use different ways, a platform takes precedence, and then the
 * framework. Undefined if no extractor needs an address.
 */
export function addressSource<Request, Response>(keys: Keys<Request, Response>): AddressSource | undefined {
  const extractors = typeof keys === 'function' ? [keys] : Object.values(keys ?? {})
  const all = extractors.map((extractor) => sources.get(extractor)).filter((source) => source !== undefined)
  return all.find(({ isPlatform }) => isPlatform) ?? all.find(({ find }) => find === undefined) ?? all[0]
}

/**
 * The framework's functions, with another `address`: the address that `byIp({ platform })` or `byIp({ trustedProxies })` in the keys finds.
 * So `allow`, `deny` and requests without a key use the same address as the key extractor. For other keys, the framework's functions
 * are returned unchanged.
 */
export function withAddressOf<Request, Response, View extends RequestView<Request>>(
  keys: Keys<Request, Response>,
  framework: View,
): View {
  const find = addressSource(keys)?.find
  if (find === undefined) return framework
  const address = (request: Request) => find(request, framework)
  return Object.create(framework, { address: { value: address }, trustsProxy: { value: () => true } }) as View
}

/**
 * Checks the options of a middleware whose framework knows no addresses: there, a limit by address would refuse every request.
 * @param scopes the scopes (kinds of keys) of the policies, as far as these scopes are known
 * @throws HeadgateError `HEADGATE_OPTION` if an option needs an address
 */
export function checkAddressNeeds<Request, Response>(
  framework: Framework<Request, Response>,
  {
    keys,
    allow,
    deny,
  }: { readonly keys?: KeysOption<Request, Response>; readonly allow?: unknown; readonly deny?: unknown },
  scopes: readonly string[],
): void {
  const source = addressSource(keys)
  if (!framework.addressless || source?.isPlatform) return
  const hasDefault = typeof keys === 'function' || keys?.[defaultScope] !== undefined
  const byDefault = !hasDefault && (keys === undefined || scopes.includes(defaultScope))
  const byLists = listsAddresses(allow) ? 'allow' : listsAddresses(deny) ? 'deny' : undefined
  const option = byDefault || source !== undefined ? 'keys' : byLists
  if (option === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${option === 'keys' ? 'A limit by address' : option} needs the client's address, and this adapter does not know it. ` +
      `Pass a function that finds it: rateLimit('100/15m', { ${framework.addressless} }). ` +
      `Or limit by something else: keys: byHeader('x-api-key').`,
  )
}

/** False for a function as `deny`, and for an empty list: neither needs an address. */
function listsAddresses(option: unknown): boolean {
  return Array.isArray(option) && option.length > 0
}
