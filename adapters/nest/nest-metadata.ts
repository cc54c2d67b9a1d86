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

export function metadataOf<Value>(key: string, target: object): Value | undefined {
  return reflector.get<Value | undefined>(key, target as Target)
}

export function limitOf(target: object): DeclaredLimit | undefined {
  return metadataOf(limitKey, target)
}

export function skippedOf(target: object): Skipped {
  return metadataOf<Skipped>(skipKey, target) ?? []
}
