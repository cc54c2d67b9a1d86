import { HeadgateError } from '../../common/index.ts'
import { defaultScope } from '../../policy/index.ts'
import type { Framework } from '../framework.ts'
import type { KeyExtractor, RequestView } from './key-extractor.ts'
import type { FindClient } from './platform-address.ts'

/** Where an extractor finds the client's address: in the framework, or in a field that a platform writes. */
type AddressSource = 'framework' | FindClient

/** Where each extractor that needs the client's address finds it. Includes extractors that `combine` made. */
const sources = new WeakMap<KeyExtractor<never, never>, AddressSource>()

/** Remembers where an extractor finds the address. Returns the extractor. */
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

/** The option `keys`, or the list of extractors in it. */
type Keys<Request, Response> = KeysOption<Request, Response> | readonly KeyExtractor<Request, Response>[]

/** Where these extractors find the address. A platform takes precedence. Undefined if no extractor needs an address. */
export function addressSource<Request, Response>(keys: Keys<Request, Response>): AddressSource | undefined {
  const extractors = typeof keys === 'function' ? [keys] : Object.values(keys ?? {})
  const all = extractors.map((extractor) => sources.get(extractor))
  return all.find((source) => typeof source === 'function') ?? all.find((source) => source !== undefined)
}

/**
 * True if these keys find the client's address by a platform: `byIp({ platform })`, alone, in `combine`, or for one of
 * the scopes. For an adapter whose framework knows no address: without such an extractor, it needs the option
 * `address`.
 */
export function declaresPlatform<Request, Response>(keys: Keys<Request, Response>): boolean {
  return typeof addressSource(keys) === 'function'
}

/**
 * The framework, with the address that a declared platform reports in place of its own. So `allow`, `deny` and a
 * request without its key use the same address as `byIp({ platform })`. Without a platform, the framework unchanged.
 */
export function onPlatform<Request, Response, View extends RequestView<Request>>(
  framework: View,
  keys: Keys<Request, Response>,
): View {
  const find = addressSource(keys)
  if (typeof find !== 'function') return framework
  const address = (request: Request) => find(request, framework)
  return Object.create(framework, { address: { value: address } }) as View
}

/**
 * Checks a middleware of a framework that knows no address. A limit by address would refuse every request there.
 * @param scopes the scopes of the policies, as far as the policies are known
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
  if (!framework.addressless || typeof source === 'function') return
  const hasDefault = typeof keys === 'function' || keys?.[defaultScope] !== undefined
  const byDefault = !hasDefault && (keys === undefined || scopes.includes(defaultScope))
  const option = byDefault || source !== undefined ? 'keys' : allow ? 'allow' : deny ? 'deny' : undefined
  if (option === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${option === 'keys' ? 'A limit by address' : option} needs the client's address, and this adapter does not know it. ` +
      `Pass a function that finds it: rateLimit('100/15m', { address: (request, context) => ... }). ` +
      `Or limit by something else: keys: byHeader('x-api-key').`,
  )
}
