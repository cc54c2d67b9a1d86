import { HeadgateError, knownOptions, ownText, shown } from '../../src/common/index.ts'
import type { Key } from '../../src/limiter/index.ts'
import { defaultScope } from '../../src/policy/index.ts'
import type { ConnectionKey } from './connection-key.ts'

/** A policy with this `scope` limits each connection separately: each connection has its own key. */
const connectionScope = 'connection'

export interface SocketKey {
  readonly key: Key
  /**
   * The key of this connection, if at least one policy limits this key. Undefined if the application gave a key for the scope of every
   * policy.
   */
  readonly own: ConnectionKey | undefined
}

/**
 * The key of a socket, for a limiter whose policies have these scopes.
 * @param options the options of `limitMessages`
 * @param own the key of the connection
 * @param isPlan true for the limiter of a plan: the key may then have scopes that only other plans have
 * @throws HeadgateError `HEADGATE_KEY` if a scope has no key, or `HEADGATE_OPTION` if a key has a scope of no policy
 */
export function socketKey(
  options: { readonly key?: unknown },
  scopes: readonly string[],
  own: ConnectionKey,
  isPlan = false,
): SocketKey {
  if (scopes.length === 0) return { key: own.text, own: undefined } // the plan without limits takes any key
  const { key } = options
  const shared = scopes.filter((scope) => scope !== connectionScope)
  if (!Object.hasOwn(options, 'key')) {
    if (scopes.length > 1 || (shared[0] ?? defaultScope) !== defaultScope) throw missing(shared, key)
    return { key: own.text, own }
  }
  const given = typeof key === 'string' ? recordOf(key, scopes, shared) : (key as Readonly<Record<string, string>>)
  if (typeof given !== 'object' || given === null) throw missing(shared, key)
  if (!isPlan) knownOptions('key', given, scopes)
  const isOwn = (scope: string) => scope === connectionScope && !Object.hasOwn(given, scope)
  const keys = scopes.map((scope) => {
    const part = isOwn(scope) ? own.text : given[scope]
    if (typeof part === 'string') return ownText(part)
    throw missing([scope], part)
  })
  const ownPart = scopes.some(isOwn) ? own : undefined
  if (keys.length === 1) return { key: keys[0] as string, own: ownPart }
  return { key: Object.fromEntries(scopes.map((scope, n) => [scope, keys[n] as string])), own: ownPart }
}

/**
 * Converts the option `key` from a text to a record. The text becomes the key of the limiter's only scope, or of its only scope other
 * than `connection`. Undefined if there is no such scope, or more than one.
 */
function recordOf(
  key: string,
  scopes: readonly string[],
  shared: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const [scope, more] = scopes.length === 1 ? scopes : shared
  return scope === undefined || more !== undefined ? undefined : { [scope]: key }
}

function missing(scopes: readonly string[], key: unknown): HeadgateError {
  const example = scopes.map((scope) => `${JSON.stringify(scope)}: requestKey(request)`).join(', ')
  return new HeadgateError(
    'HEADGATE_KEY',
    `key must have a string for ${scopes.map(shown).join(' and ')}, got ${shown(key)}. Write key: { ${example} }.`,
  )
}
