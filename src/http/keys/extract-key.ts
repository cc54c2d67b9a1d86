import { HeadgateError, ignoreRejection, isPromise, type MaybePromise, shown } from '../../common/index.ts'
import type { Key } from '../../limiter/index.ts'
import { byIp } from './by-ip.ts'
import type { Extracted, KeyExtractor, RequestView } from './key-extractor.ts'

type AnyExtractor<Request> = (
  request: Request,
  view: RequestView<Request>,
  response: unknown,
) => MaybePromise<Extracted>

/** The key of a request: the result of the key extractor, or else the client's address. False if the request is not limited. */
export function extractKey<Request, Response>(
  extractor: KeyExtractor<Request, Response>,
  request: Request,
  view: RequestView<Request>,
  response?: Response,
): MaybePromise<string | false> {
  const extracted = (extractor as AnyExtractor<Request>)(request, view, response)
  return isPromise(extracted) ? extractLater(extracted, request, view) : keyOf(extracted, request, view)
}

/** Calls `join` with the keys of several key extractors. Returns the result of `join`, or false if one of the extractors returns false. */
export function extractAll<Request, Response, Joined>(
  extractors: readonly KeyExtractor<Request, Response>[],
  request: Request,
  view: RequestView<Request>,
  response: Response,
  join: (keys: readonly string[]) => Joined,
): MaybePromise<Joined | false> {
  const keys: MaybePromise<string | false>[] = []
  try {
    for (const extractor of extractors) keys.push(extractKey(extractor, request, view, response))
  } catch (error) {
    keys.forEach(ignoreRejection) // nobody awaits the promises of the extractors before this one
    throw error
  }
  const joinAll = (all: readonly (string | false)[]) => !all.includes(false) && join(all as readonly string[])
  return keys.some(isPromise) ? Promise.all(keys).then(joinAll) : joinAll(keys as readonly (string | false)[])
}

/** The key of a request, or a record with a key for each of several scopes (kinds of keys). False if an extractor returns false. */
export function findKey<Request, Response>(
  extractors: readonly KeyExtractor<Request, Response>[],
  scopes: readonly string[],
  request: Request,
  view: RequestView<Request>,
  response: Response,
): MaybePromise<Key | false> {
  const key =
    extractors.length === 1
      ? extractKey(extractors[0] as KeyExtractor<Request, Response>, request, view, response)
      : extractAll(extractors, request, view, response, recordOf(scopes))
  ignoreRejection(key) // a function in the options may ask for the key and not await it
  return key
}

function recordOf(scopes: readonly string[]): (keys: readonly string[]) => Key {
  return (keys) => Object.fromEntries(scopes.map((scope, n) => [scope, keys[n] as string]))
}

async function extractLater<Request>(
  extracted: Promise<Extracted>,
  request: Request,
  view: RequestView<Request>,
): Promise<string | false> {
  return keyOf(await extracted, request, view)
}

const byAddress = byIp()

/**
 * The key of a request that has no address, if the key extractor has found no key. A key of `combine` also begins with `~` if a part of the
 * key is `~`.
 */
const noAddress = '~'

/**
 * True if this key, or a part of it, may mean that the request has no address. Check the request's address too, because a client
 * can send a text that looks like such a key.
 */
export function mayLackAddress(key: Key): boolean {
  if (typeof key !== 'string') return Object.values(key).some(mayLackAddress)
  return key.charCodeAt(0) === 126 && (key === noAddress || key.startsWith('~~|'))
}

/**
 * Returns the key as text. If the extractor found no key, returns the client's address with `~` in front. A key that begins with `~` gets a
 * second `~`, so that a client cannot send a text that is the key of another client's address.
 */
function keyOf<Request>(extracted: Extracted, request: Request, view: RequestView<Request>): string | false {
  if (extracted === false) return false
  const key = typeof extracted === 'string' ? extracted : keyText(extracted)
  if (key === '') return `${noAddress}${(byAddress as KeyExtractor<Request>)(request, view) ?? ''}`
  return key.charCodeAt(0) === 126 ? `~${key}` : key
}

function keyText(extracted: Exclude<Extracted, string | false>): string {
  if (extracted === undefined || extracted === null) return ''
  if (typeof extracted === 'bigint' || Number.isFinite(extracted)) return String(extracted)
  throw new HeadgateError(
    'HEADGATE_KEY',
    `A key extractor must return a text or a number, undefined for no key, or false for no limit, got ${shown(extracted)}. Return the id itself.`,
  )
}
