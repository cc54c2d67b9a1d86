import type { Key } from '../../limiter.ts'
import { isPromise, type MaybePromise } from '../../maybe-promise.ts'
import { extractKey } from './extract-key.ts'
import type { KeyExtractor, RequestView } from './key-extractor.ts'

/** The key of one scope, or a record of the keys of several. False if one of the extractors returns false. */
export function findKey<Request, Response>(
  extractors: readonly KeyExtractor<Request, Response>[],
  scopes: readonly string[],
  request: Request,
  view: RequestView<Request>,
  response: Response,
): MaybePromise<Key | false> {
  return extractors.length === 1
    ? extractKey(extractors[0] as KeyExtractor<Request, Response>, request, view, response)
    : findKeys(extractors, scopes, request, view, response)
}

function findKeys<Request, Response>(
  extractors: readonly KeyExtractor<Request, Response>[],
  scopes: readonly string[],
  request: Request,
  view: RequestView<Request>,
  response: Response,
): MaybePromise<Key | false> {
  const keys = extractors.map((extractor) => extractKey(extractor, request, view, response))
  const record = (all: readonly (string | false)[]): Key | false =>
    !all.includes(false) && Object.fromEntries(scopes.map((scope, n) => [scope, all[n] as string]))
  return keys.some(isPromise) ? Promise.all(keys).then(record) : record(keys as (string | false)[])
}
