import { Reflector } from '@nestjs/core'

/** The arguments of `@RateLimit`. Each application makes its own limiter from these arguments. */
export interface DeclaredLimit {
  readonly argument: unknown
  readonly options: object | undefined
}

/** The names of the policies that `@SkipRateLimit` skips. `'all'` if the decorator has no names. */
export type Skipped = 'all' | readonly string[]

export const limitKey: string = 'headgate:limit'
export const skipKey: string = 'headgate:skip'

const reflector = new Reflector()
type Target = Parameters<Reflector['get']>[1]

export function metadataOf<Value>(key: string, target: object): Value | undefined {
  return reflector.get<Value | undefined>(key, target as Target)
}

export function limitOf(target: object): DeclaredLimit | undefined {
  return metadataOf(limitKey, target)
}

/** The limit that a decorator on this class or method declares. Undefined if only a base class has such a decorator. */
export function ownLimitOf(target: object): DeclaredLimit | undefined {
  const limit = limitOf(target)
  return limit === limitOf(Object.getPrototypeOf(target)) ? undefined : limit
}

export function skippedOf(target: object): Skipped {
  return metadataOf<Skipped>(skipKey, target) ?? []
}
