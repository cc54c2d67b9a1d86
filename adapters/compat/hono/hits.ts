import type { Context } from 'hono'
import { HeadgateError, reason, shown, warnOnce } from '../../../src/common/index.ts'
import { nodePair, pairBeside } from '../../node-pair.ts'
import { checkedLimit, counterStoreOf, undoOf } from '../counter-store.ts'
import { hasLeft } from '../network.ts'
import { defined } from '../option-values.ts'
import type { HonoConfigType, RateLimitInfo, Store } from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: an application chooses the environment, the path and the input of a context
export type AnyContext = Context<any, any, any>

/** The options that are read when a request or a message is counted. */
export interface CountingOptions {
  readonly limit: number | ((context: AnyContext) => number | Promise<number>)
  readonly keyGenerator: (context: AnyContext) => string | Promise<string>
  readonly requestPropertyName: string
  readonly requestStorePropertyName: string
  readonly store: Store
}

/** A request or a message that was counted: the limit and the count of its client, and whether the count is over the limit. */
export interface Hit {
  readonly info: RateLimitInfo
  readonly exceeded: boolean
  /**
   * Removes this hit from the store. A second call of `uncount` does nothing. A call after the window of the hit has ended does nothing
   * either.
   */
  uncount: () => Promise<unknown>
}

export const tooMany = 'Too many requests, please try again later.'

/**
 * The options of a limiter, with defaults in place of missing options. Calls `init` of the store with all options.
 * @throws TypeError if the store is invalid, if `limit` or `windowMs` is not a number, or if `keyGenerator` is not a function
 */
export function optionsOf<Options>(config: object, defaults: object): Options & CountingOptions {
  const options = {
    windowMs: 60_000,
    limit: 5,
    message: tooMany,
    ...defaults,
    requestPropertyName: 'rateLimit',
    requestStorePropertyName: 'rateLimitStore',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    skip: () => false,
    ...defined(config),
  } as unknown as HonoConfigType
  const { limit, windowMs, keyGenerator, name } = options
  if (typeof keyGenerator !== 'function') {
    throw new TypeError(`keyGenerator must be a function that returns the key of a client, got ${shown(keyGenerator)}.`)
  }
  if (typeof limit !== 'function') checkedLimit(limit)
  const store: Store = counterStoreOf(options.store, windowMs, name) ?? (options.store as Store)
  if (typeof store?.increment !== 'function') {
    throw new TypeError(`store must have increment, decrement and resetKey, got ${shown(store)}.`)
  }
  const all = { ...options, store } as unknown as Options & CountingOptions
  if (typeof store.init === 'function') store.init(all)
  return all
}

/**
 * Counts a request or a message in the store, and sets the client's limit and count as a variable of the context. If the client
 * has disconnected and its request has no key, nothing is counted, and the result is undefined.
 */
export async function countHit(counting: CountingOptions, context: AnyContext): Promise<Hit | undefined> {
  const { store, requestPropertyName, requestStorePropertyName } = counting
  const key = await counting.keyGenerator(context)
  const node = pairBeside(context.env) ?? nodePair(context.req.raw)
  if (!key && hasLeft(node?.req ?? {})) return undefined
  const { totalHits, resetTime } = await store.increment(key)
  const limit = checkedLimit(await (typeof counting.limit === 'function' ? counting.limit(context) : counting.limit))
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime }
  context.set(requestPropertyName, info)
  context.set(requestStorePropertyName, { getKey: store.get?.bind(store), resetKey: store.resetKey.bind(store) })
  const undo = undoOf(store, key, info)
  return { info, exceeded: totalHits > limit, uncount: () => attemptOrWarn(undo()) }
}

/**
 * The result of the store. Undefined, with a warning, if a store of headgate fails: the error of a correction must not replace the response
 * of the handler.
 * @param always true to catch all errors: nobody awaits `onMessage`, so its error would end the process
 */
export async function attemptOrWarn<Result>(work: Promise<Result>, always = false): Promise<Result | undefined> {
  try {
    return await work
  } catch (error) {
    const code = error instanceof HeadgateError ? error.code : ''
    if (!always && !code.startsWith('HEADGATE_STORE')) throw error
    warnOnce('HEADGATE_MESSAGE', `A message was not counted and dropped, or a hit stays. ${reason(error)}`, code)
    return undefined
  }
}
