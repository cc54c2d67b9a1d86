import { HeadgateError, shown } from '../../common/index.ts'
import { defaultScope } from '../../policy/index.ts'
import { byIp } from './by-ip.ts'
import { checkExtractor } from './combine.ts'
import type { KeyExtractor } from './key-extractor.ts'

/**
 * The key extractors of a limiter, one for each scope (a name such as `user`), in the order of the scopes.
 * @param keys the option `keys`
 * @param strict true if an extractor for an unknown scope is an error. False if `keys` is shared by several limiters: an
 *   extractor may then be for the scope of another limiter
 * @throws HeadgateError `HEADGATE_OPTION` if a value is not an extractor, or if a scope has no extractor
 */
export function scopeExtractors<Request, Response>(
  keys: KeyExtractor<Request, Response> | Readonly<Record<string, KeyExtractor<Request, Response>>> | undefined,
  scopes: readonly string[],
  strict: boolean,
): readonly KeyExtractor<Request, Response>[] {
  if (typeof keys === 'function') checkExtractor(keys, 'keys')
  if (typeof keys === 'function' && scopes.length === 1) return [keys]
  const byScope = typeof keys === 'function' ? { default: keys } : extractorRecord(keys)
  if (strict) checkScopes(Object.keys(byScope), scopes)
  return scopes.map((scope) => {
    const extractor = Object.hasOwn(byScope, scope) ? byScope[scope] : undefined
    if (extractor !== undefined) return extractor
    if (scope === defaultScope) return byIp()
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `keys has no extractor for the scope ${shown(scope)}. Give one: keys: { ${JSON.stringify(scope)}: byHeader('x-api-key') }.`,
    )
  })
}

/**
 * Checks the scopes (kinds of keys) in the option `keys`.
 * @throws HeadgateError `HEADGATE_OPTION` if a scope has an extractor but no policy
 */
function checkScopes(given: readonly string[], scopes: readonly string[]): void {
  const unused = given.find((scope) => scope !== defaultScope && !scopes.includes(scope))
  if (unused === undefined || scopes.length === 0) return // no policy needs a key under the plan without limits
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `keys has an extractor for the scope ${shown(unused)}, but no policy has that scope. Write policies: [policy('100/15m', ` +
      `{ scope: ${shown(unused)} })], or leave the extractor out. The policies have: ${scopes.map(shown).join(', ')}.`,
  )
}

function extractorRecord<Extractors extends object>(keys: Extractors | undefined): Extractors | Record<string, never> {
  if (keys === undefined) return {}
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys)) checkExtractor(keys, 'keys')
  for (const [scope, extractor] of Object.entries(keys)) {
    if (extractor !== undefined) checkExtractor(extractor, `keys.${scope}`)
  }
  return keys
}
