import { HeadgateError } from '../../errors.ts'
import { defaultScope } from '../../policy.ts'
import type { Framework } from '../framework.ts'
import type { GuardOptions } from '../guard-options.ts'
import { declaresPlatform } from './declared-platform.ts'
import type { KeyExtractor } from './key-extractor.ts'

/** Extractors that find no key without the address that the framework knows. */
const byAddress = new WeakSet<KeyExtractor<never, never>>()

/** Marks an extractor that needs the address that the framework knows. Returns it. */
export function marksAddress<Extractor extends KeyExtractor<never, never>>(extractor: Extractor): Extractor {
  byAddress.add(extractor)
  return extractor
}

/** True if the extractor needs the address that the framework knows. */
export function needsAddress(extractor: KeyExtractor<never, never>): boolean {
  return byAddress.has(extractor)
}

/**
 * Checks a middleware of a framework that knows no address. A limit by address would refuse every request there.
 * @param scopes those of the policies, as far as they are known
 * @throws HeadgateError `HEADGATE_OPTION` if an option needs an address
 */
export function checkAddressNeeds<Request, Response>(
  framework: Framework<Request, Response>,
  { keys, allow, deny }: GuardOptions<Request, Response>,
  scopes: readonly string[],
): void {
  if (!framework.addressless || (keys !== undefined && declaresPlatform(keys))) return
  const extractors = typeof keys === 'function' ? [keys] : Object.values(keys ?? {})
  const hasDefault = typeof keys === 'function' || keys?.[defaultScope] !== undefined
  const byDefault = !hasDefault && (keys === undefined || scopes.includes(defaultScope))
  const option = byDefault || extractors.some(needsAddress) ? 'keys' : allow ? 'allow' : deny ? 'deny' : undefined
  if (option === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${option === 'keys' ? 'A limit by address' : option} needs the client's address, and this adapter does not know it. ` +
      `Pass a function that finds it: rateLimit('100/15m', { address: (request, context) => ... }). ` +
      `Or limit by something else: keys: byHeader('x-api-key').`,
  )
}
