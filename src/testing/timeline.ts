import { HeadgateError } from '../common/index.ts'
import { type Key, RateLimiter, type RateLimiterOptions } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { assertEqual } from './assert.ts'
import type { ManualClock } from './manual-clock.ts'

/** The store and the clock that one test uses. */
export interface StoreFixture {
  store: Store
  clock: ManualClock
  /** Sets the time of the clock, in milliseconds since the start of the test. */
  at: (milliseconds: number) => void
}

export type StoreCases = Readonly<Record<string, (fixture: StoreFixture) => Promise<void>>>

export function limiterOn(
  store: Store,
  policies: RateLimiterOptions['policies'],
  options: Partial<RateLimiterOptions> = {},
): RateLimiter {
  return new RateLimiter({ name: 'default', policies, store, ...options })
}

/** The outcome of a call; undefined if the store does not support the command. */
export async function ifSupported<T>(outcome: Promise<T>): Promise<T | undefined> {
  try {
    return await outcome
  } catch (error) {
    if (error instanceof HeadgateError && error.code === 'HEADGATE_UNSUPPORTED') return undefined
    throw error
  }
}

/**
 * Makes one call for each line: a verb, a key and a cost. Asserts that the decision is the one written after the arrow: `ok` or `no`, and
 * the remaining units. A number at the beginning of a line is the time, in milliseconds since the start of the test. Keys of several
 * scopes (kinds of key) are written as a list in the order of the scopes, with `-` for a scope without a key.
 *
 *     consume k 3 -> ok 7                              a cost of 3; 7 units are left
 *     1000: peek k -> no 0 by 1h for 500               refused by the policy "1h", for 500 ms
 *     ban -,u 1h scans
 *     consume a,u -> no 0 by ban for 10 in user: scans
 */
export function play({ at }: StoreFixture, limiter: RateLimiter) {
  return async (lines: TemplateStringsArray, ...values: unknown[]): Promise<void> => {
    for (const line of String.raw({ raw: lines }, ...values)
      .trim()
      .split(/\n\s*/)) {
      const [call = '', expected] = line.split(' -> ')
      const [, time, verb, name = '', more = '1', reason] = form.exec(call) ?? []
      const key = keyOf(limiter, name)
      if (time !== undefined) at(Number(time))
      if (verb === 'ban') await limiter.ban(key, more === 'Infinity' ? Infinity : more, reason ? { reason } : {})
      else if (verb === 'unban' || verb === 'reset') await limiter[verb](key)
      else assertEqual(words(await limiter[verb as DecidingVerb](key, { cost: Number(more) })), expected, line)
    }
  }
}

type DecidingVerb = 'consume' | 'peek' | 'charge' | 'refund'

/** A line of a test: the time, the verb, the key, the cost or the duration, and the reason. */
const form = /^(?:(\d+): )?(\w+) (\S+)(?: (\S+))?(?: (\S+))?$/

function keyOf({ scopes }: RateLimiter, text: string): Key {
  if (scopes.length === 1) return text
  const keys = text.split(',')
  return Object.fromEntries(scopes.map((scope, n) => [scope, keys[n] as string]).filter(([, key]) => key !== '-'))
}

function words({ allowed, remaining, policy, retryAfter, ban }: Decision): string {
  const refusal = allowed ? '' : ` by ${policy} for ${retryAfter}`
  const reason = ban?.reason === undefined ? '' : `: ${ban.reason}`
  return `${allowed ? 'ok' : 'no'} ${remaining}${refusal}${ban === undefined ? '' : ` in ${ban.scope}${reason}`}`
}
