import type { ExecutionContext } from '@nestjs/common'
import { getOrInsert, HeadgateError } from '../../src/common/index.ts'
import { changesLimit, createGuard, type Guard, type LimiterParts, withLimiterParts } from '../../src/http/index.ts'
import { RateLimiter } from '../../src/limiter/index.ts'
import { graphqlArguments, isObject } from './nest-call.ts'
import { type Class, type Handler, isReference } from './nest-enhancers.ts'
import { nestFramework } from './nest-framework.ts'
import { type DeclaredLimit, limitOf, ownLimitOf, skippedOf } from './nest-metadata.ts'
import {
  givesStore,
  type NestArgument,
  type NestGuardOptions,
  type RateLimitModuleOptions,
  readModuleOptions,
} from './nest-options.ts'

type NestGuard = Guard<ExecutionContext, ExecutionContext>

interface Applied {
  readonly guard: NestGuard | undefined
  /** True if a decorator on the handler itself declares the limit. False for the limit of the class or the module. */
  readonly own: boolean
  /**
   * True if the guard has to know when each call ends: for the option `count`, or for policies that count unfinished calls (units in
   * flight). If the policies are a function, they are unknown when the application starts, so only `count` matters.
   */
  readonly needsEnd: boolean
}

/** Finds the limit of each handler: the limit of the handler, or else of its class, or else of the module. */
export class NestLimits {
  /** The guard that enforces the limit of the module. Undefined if the module has `limit: false`. */
  readonly root: NestGuard | undefined
  readonly #inherited: NestGuardOptions
  readonly #parts: LimiterParts
  readonly #options: RateLimitModuleOptions
  readonly #more: NestGuardOptions | undefined
  readonly #ofHandlers = new WeakMap<Class, Map<Handler, Applied>>()
  readonly #ofClasses = new WeakMap<Class, NestGuard>()

  /** Reads the options of the module. @param more further options @throws HeadgateError if a policy or an option is invalid */
  constructor(options: RateLimitModuleOptions, more?: NestGuardOptions) {
    this.#options = options
    this.#more = more
    const { limited, argument, defaults, parts } = readModuleOptions(options, more)
    this.root = limited ? createGuard(nestFramework, argument, more) : undefined
    const store = parts.store ?? limiterOf(this.root)?.store
    this.#parts = store === undefined ? parts : { ...parts, store }
    // If the module has no limit, a guard without policies checks the options and finds the options that limits inherit.
    this.#inherited = (this.root ?? createGuard(nestFramework, { policies: () => [] }, defaults)).inherited
  }

  /**
   * The same limits for another application in this process, as in a test. The new application counts from 0, unless the
   * options have a store, which both applications then use.
   */
  again(): NestLimits {
    return givesStore(this.#options) ? this : new NestLimits(this.#options, this.#more)
  }

  /** The guard that enforces the limit on this call. Undefined if no limit applies to the call. */
  of(context: ExecutionContext): NestGuard | undefined {
    const { guard, own } = this.find(context.getClass(), context.getHandler() as Handler)
    return own || !isNestedField(context) ? guard : undefined
  }

  /** The limit of a handler, which is made at the first call of this method. @throws HeadgateError if the limit is invalid */
  find(type: Class, handler: Handler): Applied {
    const handlers = getOrInsert(this.#ofHandlers, type, () => new Map<Handler, Applied>())
    return getOrInsert(handlers, handler, () => this.#apply(type, handler))
  }

  #apply(type: Class, handler: Handler): Applied {
    const place = `${type.name}.${nameOf(type, handler)}`
    const own = limitOf(handler)
    const skipped = skippedOf(handler)
    const skippedByClass = skippedOf(type)
    if (own !== undefined) {
      if (skipped === 'all') throw contradiction(place)
      if (!changesLimit(own.argument as NestArgument)) {
        return applied(this.#declared(own, place, undefined), skipped, place, true)
      }
      if (skippedByClass === 'all') throw contradiction(place)
      const around = this.#around(type)
      const left = around && without(around, [...new Set([...skippedByClass, ...skipped])], place)
      return applied(this.#declared(own, place, left), [], place, true)
    }
    if (skippedByClass === 'all' && ownLimitOf(type) !== undefined) throw contradiction(type.name)
    if (skipped === 'all' || (skippedByClass === 'all' && skipped.length === 0)) return unlimited
    if (skippedByClass === 'all') throw contradiction(place)
    const limit = this.#around(type)
    const names = [...new Set([...skippedByClass, ...skipped])]
    return limit === undefined ? unlimited : applied(limit, names, place, false)
  }

  /** The limit that a decorator on the method changes: the limit of the class, or else of the module. */
  #around(type: Class): NestGuard | undefined {
    const declared = limitOf(type)
    if (declared === undefined) return this.root
    return getOrInsert(this.#ofClasses, type, () => this.#declared(declared, type.name, this.root))
  }

  /**
   * Makes the limit that a decorator declares. If the limit has no name, the name of its limiter is `place`: the class, or the class and
   * the method, with the decorator. A decorator without policies changes the limit `around`.
   */
  #declared({ argument, options }: DeclaredLimit, place: string, around: NestGuard | undefined): NestGuard {
    const given = argument as NestArgument | NestGuardOptions
    try {
      if (changesLimit(given)) {
        if (around === undefined) throw nothingToChange()
        return around.changed({ ...options, ...given })
      }
      const named = withLimiterParts(given, { ...this.#parts, name: place })
      const defaults = { ...this.#inherited, ...(options as NestGuardOptions | undefined) }
      return createGuard<ExecutionContext, ExecutionContext>(nestFramework, named, defaults, 'inherited')
    } catch (error) {
      throw at(place, error)
    }
  }
}

/** The limiter of a guard. Undefined if the policies are a function of the call. */
function limiterOf(guard: NestGuard | undefined): RateLimiter | undefined {
  return guard?.limiter instanceof RateLimiter ? guard.limiter : undefined
}

const unlimited: Applied = { guard: undefined, own: false, needsEnd: false }

function applied(limit: NestGuard, skipped: readonly string[], place: string, own: boolean): Applied {
  const guard = without(limit, skipped, place)
  if (guard === undefined) return { ...unlimited, own }
  const { count = 'all' } = guard.options
  const holds = limiterOf(guard)?.policies.some(({ algorithm }) => algorithm.leases) ?? false
  return { guard, own, needsEnd: holds || count !== 'all' }
}

/**
 * A guard that enforces a limit without the skipped policies. The other policies use the same states as in the limit with all policies.
 * Undefined if no policy is left.
 */
function without(guard: NestGuard, names: readonly string[], place: string): NestGuard | undefined {
  if (names.length === 0) return guard
  const limiter = limiterOf(guard)
  if (limiter === undefined) {
    throw wrongSkip(
      place,
      names,
      'The option `policies` here is a function of the call, so no names are known. Let the function leave these policies out for the handler, or write @SkipRateLimit().',
    )
  }
  const policies = limiter.penalty === undefined ? limiter.policies : limiter.policies.slice(0, -1)
  const known = policies.map(({ name }) => name)
  if (!names.every((name) => known.includes(name))) {
    throw wrongSkip(place, names, `The policies here are: ${known.join(', ')}. @SkipRateLimit() skips all.`)
  }
  const left = policies.filter(({ name }) => !names.includes(name))
  if (left.length === 0) return undefined
  return guard.changed({}, limiter.withPlan(left))
}

function nothingToChange(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    'The decorator has no policies, so it changes the limit around it, and there is none. Give it policies: ' +
      "@RateLimit({ policies: '5/1m' }), or give the module a limit: RateLimitModule.forRoot('100/15m').",
  )
}

/** Adds the place of the decorator to the message of a HeadgateError. Returns any other error unchanged. */
function at(place: string, error: unknown): unknown {
  if (!(error instanceof HeadgateError)) return error
  const fix =
    error.code === 'HEADGATE_DUPLICATE_LIMITER'
      ? ' If RateLimitModule.forRoot is called twice with this store, call it once, for all modules. Otherwise write here ' +
        "@RateLimit({ policies, name: 'other' })."
      : ''
  return new HeadgateError(error.code, `@RateLimit at ${place}: ${error.message}${fix}`, { cause: error })
}

function wrongSkip(place: string, names: readonly string[], fix: string): HeadgateError {
  const listed = names.map((name) => `'${name}'`).join(', ')
  return new HeadgateError('HEADGATE_OPTION', `@SkipRateLimit(${listed}) at ${place} names no policy. ${fix}`)
}

function contradiction(place: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `${place} is skipped by @SkipRateLimit() and has a limit or a narrower skip as well. Remove one of them.`,
  )
}

/**
 * True for a nested field of GraphQL, and for a reference of a federation. Such a resolver runs once for each object. Only a limit on the
 * resolver itself counts these calls.
 */
function isNestedField(context: ExecutionContext): boolean {
  if (context.getType<string>() !== 'graphql') return false
  if (isReference(context.getHandler() as Handler)) return true
  const { info } = graphqlArguments(context.getArgs())
  return isObject(info) && isObject(info.path) && info.path.prev !== undefined
}

/** The name of a handler's method. The handler's own `name` may differ, because a decorator may have replaced the function. */
function nameOf({ prototype }: Class, handler: Handler): string {
  for (let from: object | null = prototype; from !== null; from = Object.getPrototypeOf(from)) {
    const properties = Object.entries(Object.getOwnPropertyDescriptors(from))
    const found = properties.find(([, { value }]) => value === handler)
    if (found !== undefined) return found[0]
  }
  return handler.name
}
