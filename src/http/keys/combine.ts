import { HeadgateError } from '../../errors.ts'
import { isPromise } from '../../maybe-promise.ts'
import { extractKey, mayLackAddress } from './extract-key.ts'
import type { KeyExtractor } from './key-extractor.ts'

/**
 * By several extractors together. Different inputs never give the same key. A missing part is replaced by the address.
 *
 *     combine(byIp(), byRoute())
 *
 * @throws HeadgateError `HEADGATE_OPTION` without extractors, or if one is not a function
 */
export function combine<Request = unknown>(...extractors: KeyExtractor<Request>[]): KeyExtractor<Request> {
  if (extractors.length === 0 || extractors.some((extractor) => typeof extractor !== 'function')) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'combine takes key extractors. Write combine(byHeader("x-api-key"), byRoute()).',
    )
  }
  return (request, view) => {
    const parts = extractors.map((extractor) => extractKey(extractor, request, view))
    return parts.some(isPromise) ? Promise.all(parts).then(joinParts) : joinParts(parts as string[])
  }
}

function joinParts(parts: readonly string[]): string {
  const joined = parts.map((part) => part.replaceAll('\\', '\\\\').replaceAll('|', '\\|')).join('|')
  return parts.some(mayLackAddress) ? `~|${joined}` : joined
}
