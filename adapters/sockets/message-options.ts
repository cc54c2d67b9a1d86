import {
  anything,
  callback,
  type Duration,
  duration,
  HeadgateError,
  hook,
  invalidOption,
  type MaybePromise,
  oneOf,
  readOptions,
  type Settled,
  type Sleeper,
  timerSleeper,
  whole,
} from '../../src/common/index.ts'
import type { RateLimiter } from '../../src/limiter/index.ts'
import type { Decision } from '../../src/policy/index.ts'

/** A message that was not delivered, and why. */
export interface MessageRefusal<Message> {
  /**
   * `'limit'`: the message is over the limit. `'store'`: the store failed, and `onStoreError` is `'closed'`. `'queue'`:
   * `maxQueue` messages wait already.
   */
  readonly reason: 'limit' | 'store' | 'queue'
  /** The decision, if the reason is `'limit'`. */
  readonly decision: Decision | undefined
  /** Milliseconds until a new attempt makes sense. Infinity for a message that can never be admitted. */
  readonly retryAfter: number
  /** The arguments of the event: `[data, isBinary]` with ws, `[name, ...arguments]` with socket.io. */
  readonly message: Message
}

/** The options of `limitMessages`. */
export interface MessageOptions<Message> {
  /**
   * Who is limited: a text, or a record with a text for each scope. The scope `connection` needs none: each socket has a
   * key of its own. Default: a key of its own for each socket. Example: `{ address: requestKey(request) }`.
   */
  key?: string | Readonly<Record<string, string>>
  /**
   * What happens to a message over the limit. `'drop'` (default) drops it and tells the client. `'close'` closes the
   * connection: with code 1013 (ws), by `disconnect(true)` (socket.io). `'delay'` delivers it later, in order.
   */
  overLimit?: 'drop' | 'close' | 'delay'
  /**
   * The cost of a message in units: a number, or a function of the event's arguments. Default 1.
   * Example: `([data]) => 1 + Math.floor(data.length / 1024)`.
   */
  cost?: number | ((message: Message) => number)
  /**
   * Called for each message that is not delivered, in place of the built-in notice to the client. May return a promise.
   * Example: `({ retryAfter }) => socket.send(JSON.stringify({ wait: retryAfter }))`.
   */
  notify?: (refusal: MessageRefusal<Message>) => MaybePromise<unknown>
  /**
   * With `'delay'`: the longest wait of the first message in the queue. If it would wait longer, it is dropped. Default
   * `'1m'`. Example: `'5s'`.
   */
  maxWait?: Duration
  /**
   * How many messages of the connection may wait, for their turn or for the store. Beyond this number, `'drop'` drops
   * the message, and `'close'` and `'delay'` close the connection. Default 1000. Example: `100`.
   */
  maxQueue?: number
  /**
   * With `'delay'`: calls a function after a number of milliseconds. Default: `setTimeout`. Pass one in tests.
   * Example: `new ManualClock().sleeper` of `headgate/testing`.
   */
  sleeper?: Sleeper
}

const readers = {
  key: anything,
  overLimit: oneOf('drop', 'close', 'delay'),
  cost: anything,
  notify: hook('({ retryAfter }) => ...'),
  maxWait: duration('1m', { usual: 100 }),
  maxQueue: whole(1000),
  sleeper: callback('(milliseconds, wake) => cancel', timerSleeper()),
}

/** The validated options, in milliseconds. */
export type MessageSettings<Message> = Settled<Omit<MessageOptions<Message>, 'key'>, 'notify'>

/** @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_COST` if an option is invalid, or does not fit the policies */
export function readMessageOptions<Message>(
  options: MessageOptions<Message>,
  limiter: RateLimiter,
): MessageSettings<Message> {
  const { cost = 1, ...settings } = readOptions('limitMessages', options, readers)
  if (settings.overLimit === 'delay') checkDelay(limiter)
  else checkUnused(options, settings.overLimit)
  return { ...settings, cost: typeof cost === 'function' ? cost : checkedMessageCost(cost, 'cost') }
}

/** @throws HeadgateError `HEADGATE_COST` */
export function checkedMessageCost(cost: unknown, source: string): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 1) return cost as number
  const fix = 'Write cost: ([data]) => 1 + Math.floor(data.length / 1024).'
  throw invalidOption(source, 'a whole number from 1 to 2^53 - 1', cost, fix, 'HEADGATE_COST')
}

/** Refuses policies that count refusals with `'delay'`: a waiting message asks again and would count more than once. */
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
