import { HeadgateError, shown } from '../../common/index.ts'
import { addressSource, readsAddress } from './address-source.ts'
import { byIp } from './by-ip.ts'
import { extractAll, mayLackAddress } from './extract-key.ts'
import { byCookie, byHeader, byParam, byRoute } from './extractors.ts'
import type { KeyExtractor } from './key-extractor.ts'

/**
 * By several extractors together. Different inputs never give the same key. A missing part is replaced by the address.
 * If one extractor returns false, the request is not limited.
 *
 *     combine(byIp(), byRoute())
 *
 * @throws HeadgateError `HEADGATE_OPTION` without extractors, or if one is not a function
 */
export function combine<Request = unknown, Response = unknown>(
  ...extractors: KeyExtractor<Request, Response>[]
): KeyExtractor<Request, Response> {
  for (const extractor of extractors) checkExtractor(extractor, 'combine')
  if (extractors.length === 0) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'combine takes key extractors. Write combine(byHeader("x-api-key"), byRoute()).',
    )
  }
  const combined: KeyExtractor<Request, Response> = (request, view, ...[response]) => {
    return extractAll(extractors, request, view, response as Response, joinParts)
  }
  return readsAddress(combined, addressSource(extractors))
}

/** Functions that make extractors, such as `byIp`. Passed without a call, they would fail at every request. */
const makers: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [byIp, 'byIp()'],
  [byHeader, "byHeader('x-api-key')"],
  [byCookie, "byCookie('session')"],
  [byParam, "byParam('id')"],
  [byRoute, 'byRoute()'],
  [combine, 'combine(byIp(), byRoute())'],
])

/** @throws HeadgateError `HEADGATE_OPTION` for a value that is no extractor, such as `byIp` that was not called */
export function checkExtractor(extractor: unknown, where: string): void {
  const call = makers.get(extractor)
  if (typeof extractor === 'function' && call === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    call === undefined
      ? `${where} takes key extractors, got ${shown(extractor)}. Write byHeader('x-api-key'), or (request) => request.userId.`
      : `${where} got a function that makes a key extractor. Call it: ${call}.`,
  )
}

function joinParts(parts: readonly string[]): string {
  const joined = parts.map((part) => part.replaceAll('\\', '\\\\').replaceAll('|', '\\|')).join('|')
  return parts.some(mayLackAddress) ? `~|${joined}` : joined
}
