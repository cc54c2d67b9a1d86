import type { KeyExtractor, RequestView } from './key-extractor.ts'
import type { FindClient } from './platform-address.ts'

/** How the extractors find the client that were made with a platform, also as a part of `combine`. */
const declared = new WeakMap<KeyExtractor<never, never>, FindClient>()

/** Notes that this extractor was made with a platform. */
export function declare(extractor: KeyExtractor, find: FindClient): KeyExtractor {
  declared.set(extractor, find)
  return extractor
}

/** Notes for a combined extractor what its parts were made with. */
export function declareParts(whole: KeyExtractor<never, never>, parts: readonly KeyExtractor<never, never>[]): void {
  const find = findClientOf(parts)
  if (find !== undefined) declared.set(whole, find)
}

/** The option `keys` of a middleware, or the extractors that it has. */
type Keys<Request, Response> =
  | KeyExtractor<Request, Response>
  | readonly KeyExtractor<Request, Response>[]
  | Readonly<Record<string, KeyExtractor<Request, Response>>>
  | undefined

/**
 * True if these keys find the client's address by a platform: `byIp({ platform })`, alone, in `combine`, or for one of the
 * scopes. For an adapter whose framework knows no address: with such keys it works, with others it has to be told one.
 */
export function declaresPlatform<Request, Response>(keys: Keys<Request, Response>): boolean {
  return findClientIn(keys) !== undefined
}

/**
 * The framework with the address that a declared platform tells. So `allow`, `deny`, and a request without its key all mean
 * the same client as `byIp({ platform })`. Without a platform, the framework itself.
 */
export function onPlatform<Request, Response, View extends RequestView<Request>>(
  framework: View,
  keys: Keys<Request, Response>,
): View {
  const find = findClientIn(keys)
  if (find === undefined) return framework
  const address = (request: Request) => find(request, framework)
  return Object.create(framework, { address: { value: address } }) as View
}

function findClientIn<Request, Response>(keys: Keys<Request, Response>): FindClient | undefined {
  return findClientOf(typeof keys === 'function' ? [keys] : Object.values(keys ?? {}))
}

function findClientOf(extractors: readonly KeyExtractor<never, never>[]): FindClient | undefined {
  return extractors.map((extractor) => declared.get(extractor)).find((find) => find !== undefined)
}
