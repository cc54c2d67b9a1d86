import { HeadgateError, shown } from '../../common/index.ts'
import { addressSource, readsAddress } from './address-source.ts'
import { byIp } from './by-ip.ts'
import { extractAll, mayLackAddress } from './extract-key.ts'
import { byCookie, byHeader, byParam, byRoute } from './extractors.ts'
import type { KeyExtractor } from './key-extractor.ts'

/**
 * Limits by several key extractors together: the key has a part from each extractor, and two keys are equal only if all their parts are
 * equal. The parts are joined by `|`, such as `192.0.2.1|GET /users/:id`. In a part, `|` becomes `\|`, and `\` becomes `\\`. If an extractor
 * finds no key, the client's address is used as the part of this extractor. If an extractor returns false, the request is not limited.
 *
 *     combine(byIp(), byRoute())
 *
 * @throws HeadgateError `HEADGATE_OPTION` if there is no extractor, or if an extractor is not a function
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

/** Functions that return a key extractor, with a valid call. If a user passed `byIp` in place of `byIp()`, every request would fail. */
const makers: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [byIp, 'byIp()'],
  [byHeader, "byHeader('x-api-key')"],
  [byCookie, "byCookie('session')"],
  [byParam, "byParam('id')"],
  [byRoute, 'byRoute()'],
  [combine, 'combine(byIp(), byRoute())'],
])

/**
 * Checks a key extractor.
 * @param where the name of the option, for the error message
 * @throws HeadgateError `HEADGATE_OPTION` if the value is not an extractor, for example `byIp` in place of `byIp()`
 */
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
