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

/** The limit that a class or a handler declares. */
export function limitOf(target: object): DeclaredLimit | undefined {
  return reflector.get<DeclaredLimit | undefined>(limitKey, target as Target)
}

/** The policies that a class or a handler skips. */
export function skippedOf(target: object): Skipped {
  return reflector.get<Skipped | undefined>(skipKey, target as Target) ?? []
}
