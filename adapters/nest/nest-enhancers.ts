import * as nest from '@nestjs/common'
import type { ApplicationConfig } from '@nestjs/core'
import { HeadgateError } from '../../src/common/index.ts'
import { RateLimitInterceptor } from './nest-interceptor.ts'
import { limitKey, limitOf, metadataOf, skipKey } from './nest-metadata.ts'

export type Class = abstract new (...args: never[]) => unknown
export type Handler = (...args: never[]) => unknown

const guardsKey = '__guards__'
const interceptorsKey = '__interceptors__'
const gatewayKey = 'websockets:message_mapping'
/** The keys of the metadata that Nest's decorators set on handlers of gateways, microservices and GraphQL. */
const messagesKey = 'microservices:pattern'
const patternKeys = [gatewayKey, messagesKey, 'graphql:resolver_type']
const referenceKey = 'graphql:resolve_reference'
const fieldKeys = ['graphql:resolve_property', referenceKey]
/** The token with which Nest injects the options of `GraphQLModule`. */
const graphqlOptions = 'GqlModuleOptions'

interface GraphqlOptions {
  readonly fieldResolverEnhancers?: unknown[]
}

/** True for a method that Nest calls for requests, messages or operations. */
export function isHandler(handler: Handler): boolean {
  return takesMessages(handler) || metadataOf('path', handler) !== undefined
}

/**
 * True for a method with `@RateLimit` that Nest never calls with guards. Such a method has only the metadata of guards and limits. Other
 * metadata may come from a package that calls the method with guards, such as a package for bots.
 */
export function isLimitedInVain(handler: Handler): boolean {
  const { getMetadataKeys } = Reflect as unknown as { getMetadataKeys(target: object): string[] }
  const own = [limitKey, skipKey, guardsKey, interceptorsKey]
  return (
    !isHandler(handler) && limitOf(handler) !== undefined && getMetadataKeys(handler).every((key) => own.includes(key))
  )
}

/** True for a handler of a gateway, a microservice or GraphQL: its calls are messages or operations, not HTTP requests. */
export function takesMessages(handler: Handler): boolean {
  return patternKeys.some((key) => metadataOf(key, handler) !== undefined)
}

/** The transport of a message handler: `'ws'` for a gateway, `'rpc'` for a microservice. Undefined for other handlers. */
export function transportOf(handler: Handler): 'ws' | 'rpc' | undefined {
  if (metadataOf(gatewayKey, handler) !== undefined) return 'ws'
  return metadataOf(messagesKey, handler) === undefined ? undefined : 'rpc'
}

/**
 * True for a GraphQL resolver of a field, or of a reference in a federation. Nest runs guards and interceptors for it only if
 * `fieldResolverEnhancers` names them.
 */
export function isField(handler: Handler): boolean {
  return fieldKeys.some((key) => metadataOf(key, handler) !== undefined)
}

/** True for a GraphQL resolver of a reference in a federation. */
export function isReference(handler: Handler): boolean {
  return metadataOf(referenceKey, handler) !== undefined
}

/**
 * The option `fieldResolverEnhancers` of the application's `GraphQLModule`, such as `['guards']`. Undefined if the providers of the
 * application include no `GraphQLModule`.
 */
export function fieldEnhancers(providers: readonly { token: unknown; instance: unknown }[]): unknown[] | undefined {
  const modules = providers.filter(({ token }) => token === graphqlOptions)
  if (modules.length === 0) return undefined
  return modules.flatMap(({ instance }) => (instance as GraphqlOptions | undefined)?.fieldResolverEnhancers ?? [])
}

/** Nest 12 has this class. Since Nest 12, global guards and interceptors run for messages of gateways too. */
const gatewaysTakeGlobals = 'StandardSchemaValidationPipe' in nest

/** True if Nest runs the global guards and interceptors for the handler. */
function takesGlobals(handler: Handler): boolean {
  return gatewaysTakeGlobals || metadataOf(gatewayKey, handler) === undefined
}

/** True if a guard of the class `guard` runs before the handler. */
export function isGuarded(config: ApplicationConfig, guard: Class, type: Class, handler: Handler): boolean {
  const scoped = config.getGlobalRequestGuards().map(({ metatype }) => metatype)
  const globals = takesGlobals(handler) ? [...config.getGlobalGuards(), ...scoped] : []
  return [...globals, ...listed(guardsKey, type, handler)].some((each) => is(each, guard))
}

/** True for a handler of `@GrpcStreamCall`. Nest does not handle what its guards throw, so a refusal would end the process. */
export function isStreamCall(handler: Handler): boolean {
  const patterns = metadataOf<readonly { streaming?: unknown }[]>(messagesKey, handler) ?? []
  return patterns.some((pattern) => pattern?.streaming === 'pt_stream')
}

/**
 * True if `RateLimitInterceptor` runs around the handler, and sees the end of its calls. Only this interceptor sees the end of a call that
 * is not HTTP.
 */
export function isIntercepted(config: ApplicationConfig, type: Class, handler: Handler): boolean {
  const scoped = config.getGlobalRequestInterceptors().map(({ metatype }) => metatype)
  const globals = takesGlobals(handler) ? [...config.getGlobalInterceptors(), ...scoped] : []
  return [...globals, ...listed(interceptorsKey, type, handler)].some((each) => is(each, RateLimitInterceptor))
}

function listed(key: string, type: Class, handler: Handler): readonly unknown[] {
  return [type, handler].flatMap((target) => metadataOf<readonly unknown[]>(key, target) ?? [])
}

/** True if the value is the expected class, extends the class, is an instance of the class, or is injected with the class. */
function is(given: unknown, expected: Class): boolean {
  if (given === expected || given instanceof expected) return true
  const type = typeof given === 'function' ? given : (given as object).constructor
  const types = metadataOf<readonly unknown[]>('design:paramtypes', type) ?? []
  const named = metadataOf<readonly { param: unknown }[]>('self:paramtypes', type) ?? []
  return type.prototype instanceof expected || types.includes(expected) || named.some(({ param }) => param === expected)
}

/** The error for a limit on a method that is no handler. */
export function noEffect(place: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `@RateLimit at ${place} has no effect, because this method handles no requests. Put @RateLimit on the handler that calls it, ` +
      'or call a RateLimiter in the method.',
  )
}

/** The error for a limit on a field resolver for which Nest runs no guards. */
export function fieldWithoutGuards(place: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `@RateLimit at ${place} has no effect, because Nest runs no guards for this field resolver. Add ` +
      "fieldResolverEnhancers: ['guards'] to the options of GraphQLModule, or put @RateLimit on a query.",
  )
}

/** The error for a limit that has to know when a call ends, on a handler for which no interceptor reports the end of calls. */
export function unseenEnd(place: string, className: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `The limit at ${place} counts units in flight or has count, and only RateLimitInterceptor sees how a call ends that is not ` +
      `HTTP. Add @UseInterceptors(RateLimitInterceptor) to ${className}. Except for a gateway of Nest 11, { provide: APP_INTERCEPTOR, useClass: ` +
      "RateLimitInterceptor } in the providers of a module does too. For a field resolver, also add 'interceptors' to " +
      'fieldResolverEnhancers. To leave the handler without this limit, add @SkipRateLimit().',
  )
}

/** The error for a limit on a handler of `@GrpcStreamCall`. */
export function unrefusable(place: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `The limit at ${place} cannot refuse a call: Nest does not handle what a guard throws before a handler of @GrpcStreamCall, so the ` +
      'process would end. Write @GrpcStreamMethod (not in Nest 11, which has the same fault there), or add @SkipRateLimit().',
  )
}
