import type { Policy } from '../../src/algorithms/index.ts'
import {
  anything,
  callback,
  check,
  type Duration,
  duration,
  HeadgateError,
  hook,
  ignoreRejection,
  type MaybePromise,
  oneOf,
  optional,
  readOptions,
  type Settled,
  type Sleeper,
  timerSleeper,
  whole,
} from '../../src/common/index.ts'
import { checkAsked, checkedCost, checkUnasked } from '../../src/http/index.ts'
import { type AnyCost, askedBy, isOfPlan, type RateLimiter } from '../../src/limiter/index.ts'
import type { CallerCalendars, Decision } from '../../src/policy/index.ts'

/** Describes a message that was not delivered, for the option `notify`. */
export interface MessageRefusal<Message> {
  /**
   * Why the message was not delivered. `'limit'`: it was over the limit. `'store'`: the store failed, and `onStoreError` is
   * `'closed'`. `'queue'`: `maxQueue` messages of the socket were already waiting.
   */
  readonly reason: 'limit' | 'store' | 'queue'
  /** The decision that refused the message. Undefined if the reason is not `'limit'`. */
  readonly decision: Decision | undefined
  /** Milliseconds until a new attempt makes sense. Infinity for a message that can never be admitted. */
  readonly retryAfter: number
  /** The arguments of the event: `[data, isBinary]` with ws, `[name, ...arguments]` with socket.io. */
  readonly message: Message
}

/** The options of `limitMessages`. */
export interface MessageOptions<Message> {
  /**
   * The key that is limited: a text for all policies, or a record with a text for each `scope` of the policies. In the scope `connection`,
   * each socket always has its own key, so the record does not name the scope `connection`. Default: each socket has its own key. Example:
   * `{ address: requestKey(request) }`.
   */
  key?: string | Readonly<Record<string, string>> | undefined
  /**
   * What happens to a message over the limit. `'drop'` drops the message and tells the client. `'close'` closes the connection,
   * with code 1013 (ws) or by `disconnect(true)` (socket.io). `'delay'` delivers the message later, in order. Default `'drop'`.
   */
  overLimit?: 'drop' | 'close' | 'delay' | undefined
  /**
   * The cost of a message in units: a number for every policy, a record with a number for each policy, or a function that gets the
   * arguments of the event and returns such a number or record. A policy whose cost is 0 takes no units, and refuses the message only if
   * the key is banned. Default 1. Example: `([data]) => 1 + Math.floor(data.length / 1024)`, or `([name]) => (name === 'say' ? 1 : 0)`.
   */
  cost?: AnyCost | ((message: Message) => AnyCost) | undefined
  /**
   * The calendar of the customer at the other end, or a record with a calendar for each scope. Required if a policy has `anchor:
   * 'caller'` or `timeZone: 'caller'`. If the calendar is invalid, each message fails with the error `HEADGATE_CALENDAR`. Default: none.
   * Example: `{ anchor: customer.since, timeZone: customer.timeZone }`.
   */
  calendar?: CallerCalendars | undefined
  /**
   * Called for each message that is not delivered, in place of the built-in notice to the client. May return a promise.
   * Example: `({ retryAfter }) => socket.send(JSON.stringify({ wait: retryAfter }))`.
   */
  notify?: ((refusal: MessageRefusal<Message>) => MaybePromise<unknown>) | undefined
  /**
   * The longest wait of the first message in the queue, with `'delay'`: milliseconds or a text. A message that would wait longer is
   * dropped. Default `'1m'`. Example: `'5s'`.
   */
  maxWait?: Duration | undefined
  /**
   * How many messages of the socket may wait for earlier messages or for the answer of the store. The option `overLimit` decides about a
   * message beyond this number: `'drop'` drops the message, and `'close'` and `'delay'` close the connection. Default 1000. Example: `100`.
   */
  maxQueue?: number | undefined
  /**
   * The timer that the queue uses with `'delay'`: a function that calls another function after a number of milliseconds. Default:
   * `setTimeout`. Example, for tests: `new ManualClock().sleeper` of `headgate/testing`.
   */
  sleeper?: Sleeper | undefined
}

const isListOfNames = (given: unknown) => {
  return Array.isArray(given) && given.length > 0 && given.every((name) => typeof name === 'string')
}

const readers = {
  key: anything,
  overLimit: oneOf('drop', 'close', 'delay'),
  cost: anything,
  only: optional(check<readonly string[]>(isListOfNames, 'a list of names of events', "['say']")),
  calendar: anything,
  notify: hook('({ retryAfter }) => ...'),
  maxWait: duration('1m', { usual: 100 }),
  maxQueue: whole(1000),
  sleeper: callback('(milliseconds, wake) => cancel', timerSleeper()),
}

/** The options for either library. Only socket.io has the option `only`. */
type AllOptions<Message> = MessageOptions<Message> & { only?: readonly string[] }

/** The options after their checks, with defaults filled in and durations in milliseconds. */
export interface MessageSettings<Message>
  extends Settled<Omit<MessageOptions<Message>, 'key' | 'cost'>, 'notify' | 'calendar'> {
  readonly cost: AnyCost | ((message: Message) => AnyCost)
  /** True for a message that takes no units and passes without a decision. Undefined if every message is limited. */
  readonly isFree: ((message: Message) => boolean) | undefined
}

/**
 * Reads the options.
 * @param eventOf finds the name of a message's event; undefined if messages have no names
 * @throws HeadgateError `HEADGATE_OPTION`, `HEADGATE_COST` or `HEADGATE_CALENDAR` if an option is invalid or does not fit the policies */
export function readMessageOptions<Message>(
  options: MessageOptions<Message>,
  limiter: RateLimiter,
  eventOf: ((message: Message) => string) | undefined,
): MessageSettings<Message> {
  const { cost = 1, only, ...settings } = readOptions('limitMessages', options as AllOptions<Message>, readers)
  if (only !== undefined && eventOf === undefined) throw onlyWithoutNames()
  if (settings.overLimit === 'delay') checkDelay(limiter)
  else checkUnused(options, settings.overLimit)
  const asks = limiter.policies.some(({ calendar }) => calendar !== undefined && calendar.asks.length > 0)
  // A calendar may be written for other plans.
  if (settings.calendar !== undefined && !isOfPlan(limiter)) checkAsked(limiter.policies)
  if (settings.calendar === undefined) checkUnasked(limiter.policies, (said) => `calendar: ${said('customer')}`)
  if (typeof cost !== 'function') askedBy(checkedCost(cost, 'cost', free), limiter.policies, limiter.store)
  const isFree = only && eventOf && ((message: Message) => !only.includes(eventOf(message)))
  return { ...settings, calendar: asks ? settings.calendar : undefined, cost, isFree }
}

const free = 'let cost return 0 for a message that costs nothing'

/** Checks what the function `cost` returned. @throws HeadgateError `HEADGATE_COST` if the cost is invalid */
export function costOfMessage(cost: unknown, policies: readonly Policy[]): AnyCost {
  ignoreRejection(cost)
  if (cost !== 0) return checkedCost(cost, 'What cost returns', free)
  const counting = policies.filter(({ algorithm }) => !algorithm.punishes)
  return Object.fromEntries(counting.map(({ name }) => [name, 0]))
}

function onlyWithoutNames(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    'limitMessages: only is for socket.io, because a message of ws has no event name. Read the message instead: ' +
      'cost: ([data]) => (isChat(data) ? 1 : 0).',
  )
}

/**
 * Called if `overLimit` is `'delay'`. Throws if a policy counts refused calls: a waiting message is refused several times
 * before it is delivered, and each refusal would count.
 */
function checkDelay({ policies }: RateLimiter): void {
  if (!policies.some(({ countRefused, algorithm }) => countRefused || algorithm.punishes)) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    "overLimit: 'delay' cannot be used with countRefused or a penalty: a message that waits is refused more than once. " +
      "Use 'drop' or 'close'.",
  )
}

function checkUnused(options: MessageOptions<never>, overLimit: string): void {
  const unused = (['maxWait', 'sleeper'] as const).find((option) => options[option] !== undefined)
  if (unused === undefined) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${unused} has no effect with overLimit: '${overLimit}'. Leave it out, or write overLimit: 'delay'.`,
  )
}
