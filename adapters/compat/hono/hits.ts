import type { Context } from 'hono'
import { shown } from '../../../src/errors.ts'
import { text } from '../../../src/options.ts'
import { CounterStore, checkedLimit, MemoryStore } from '../counter-store.ts'
import { countersIn, isHeadgateStore } from '../counters.ts'
import { numberFor } from '../option-values.ts'
import type { HonoConfigType, RateLimitInfo, Store } from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: the environment, the path and the input of a context are the user's
export type AnyContext = Context<any, any, any>

/** The options that say what is counted, before they are checked. */
interface Counted {
  readonly limit?: unknown
  readonly windowMs?: unknown
  readonly keyGenerator: unknown
  readonly name?: string | undefined
}

/** What counting needs of the options. */
export interface Counting {
  readonly limit: number | ((context: AnyContext) => number | Promise<number>)
  readonly keyGenerator: (context: AnyContext) => string | Promise<string>
  readonly requestPropertyName: string
  readonly requestStorePropertyName: string
  readonly store: Store
}

/** A request or a message that was counted. */
export interface Hit {
  readonly info: RateLimitInfo
  readonly exceeded: boolean
  /** Takes the hit back, once, and not from a later window. */
  uncount(): Promise<void>
}

/**
 * The store of the option: memory, one of headgate, or one of the interface of hono-rate-limiter.
 * @throws TypeError if it is none of them, if a number of the options is none, or without `keyGenerator`
 */
export function storeOf(given: HonoConfigType['store'] | undefined, options: Counted): Store {
  const { limit, windowMs = 60_000, keyGenerator, name } = options
  if (typeof keyGenerator !== 'function') {
    throw new TypeError(`keyGenerator must be a function that returns the key of a client, got ${shown(keyGenerator)}.`)
  }
  if (typeof limit !== 'function' && limit !== undefined) checkedLimit(limit as number)
  const window = numberFor('windowMs', windowMs, 0, Infinity)
  if (given === undefined) return new MemoryStore()
  if (isHeadgateStore(given)) {
    if (name !== undefined) text(name, 'name', 'HEADGATE_NAME')
    return new CounterStore(countersIn(window, given, name))
  }
  if (typeof given?.increment === 'function') return given
  throw new TypeError(`store must have increment, decrement and resetKey, got ${shown(given)}.`)
}

/** Gives a store the options, if it wants them. */
export function initStore(store: Store, options: object): void {
  if (typeof store.init === 'function') store.init(options)
}

/** The options without those that are undefined. */
export function defined<Config extends object>(config: Config): Partial<Config> {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)) as Partial<Config>
}

/** Counts a hit, and puts its numbers on the context. */
export async function hit(counting: Counting, context: AnyContext): Promise<Hit> {
  const { store, requestPropertyName, requestStorePropertyName } = counting
  const key = await counting.keyGenerator(context)
  const { totalHits, resetTime } = await store.increment(key)
  const limit = checkedLimit(await (typeof counting.limit === 'function' ? counting.limit(context) : counting.limit))
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime }
  context.set(requestPropertyName, info)
  context.set(requestStorePropertyName, { getKey: store.get?.bind(store), resetKey: store.resetKey.bind(store) })
  let counts = true
  const uncount = async () => {
    if (!counts || (resetTime !== undefined && Date.now() >= resetTime.getTime())) return
    counts = false
    await store.decrement(key)
  }
  return { info, exceeded: totalHits > limit, uncount }
}
