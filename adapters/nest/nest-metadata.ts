import { Reflector } from '@nestjs/core'

/** A limit as `@RateLimit` declares it. It becomes a limiter in each application. */
export interface DeclaredLimit {
  readonly argument: unknown
  readonly options: object | undefined
}

/** Which policies `@SkipRateLimit` names. No name means all of them. */
export type Skipped = 'all' | readonly string[]

export const limitKey: string = 'headgate:limit'
export const skipKey: string = 'headgate:skip'

const reflector = new Reflector()
type Target = Parameters<Reflector['get']>[1]

/** What a decorator has left on a class or a handler. */
export function metadataOf<Value>(key: string, target: object): Value | undefined {
  return reflector.get<Value | undefined>(key, target as Target)
}

/** The limit that a class or a handler declares. */
export function limitOf(target: object): DeclaredLimit | undefined {
  return metadataOf(limitKey, target)
}

/** The policies that a class or a handler skips. */
export function skippedOf(target: object): Skipped {
  return metadataOf<Skipped>(skipKey, target) ?? []
}
