import { callHook, Fifo, HeadgateError, isPromise, longestSleep, type MaybePromise } from '../../src/common/index.ts'
import { decide, type Key, type RateLimiter } from '../../src/limiter/index.ts'
import type { Decision } from '../../src/policy/index.ts'
import type { ConnectionKey } from './connection-key.ts'
import { costOfMessage, type MessageRefusal, type MessageSettings } from './message-options.ts'
import { type MessageTransport, noticeOf } from './message-transport.ts'
import type { SocketKey } from './socket-key.ts'

/** Delivers a message to the application's listeners. With an error, reports the error in place of the message. */
type Pass = (error?: Error) => void

/** The result for a message that is not limited. */
const free = { free: true, retryAfter: 0 } as const

/** The decision on a message, or the error that the limiter or the option `cost` threw. */
type Outcome = Decision | typeof free | { readonly error: unknown }

interface WaitingMessage<Message> {
  readonly message: Message
  readonly pass: Pass
  /** The decision on the message. Undefined before the limiter is asked. */
  outcome: MaybePromise<Outcome> | undefined
  /** About how many bytes the message holds. */
  readonly size: number
  /** How long the message has waited as the first of the queue, in milliseconds. */
  waited: number
}

/** The wait in a client's notice, in milliseconds, if nobody gives one. */
const aSecond = 1000

/**
 * The limit on the messages of one socket. A message passes these steps:
 *
 *     take -> decide -> settle: pass (deliver), tell (the client of a refusal), close (the socket) or fail (report an error)
 *
 * All steps are synchronous if the store is synchronous and no message waits. Otherwise the message is added to the queue, and `#advance`
 * does the last step for the messages in the order of arrival. With `'delay'`, the limiter decides only on the first message of the queue,
 * repeatedly until the message is admitted. Without `'delay'`, the limiter decides on each message when the message arrives, and the
 * message leaves the queue after its decision.
 */
export class MessageLimit<Message> {
  readonly limiter: RateLimiter
  readonly key: Key
  readonly #own: ConnectionKey | undefined
  readonly #settings: MessageSettings<Message>
  readonly #transport: MessageTransport<Message>
  /** The waiting messages. Undefined until a message has to wait, because on most sockets no message waits. */
  #queue: Fifo<WaitingMessage<Message>> | undefined
  #advancing = false
  #paused = false
  #cancelSleep: (() => void) | undefined
  /** True after the limiter was asked: the store may now have a state of the socket's key. */
  #asked = false
  /** True after the socket was closed, by the client or by this limit: later messages are dropped. */
  #ended = false
  #afterEnd: (() => void) | undefined

  constructor(
    limiter: RateLimiter,
    { key, own }: SocketKey,
    settings: MessageSettings<Message>,
    transport: MessageTransport<Message>,
  ) {
    this.limiter = limiter
    this.key = key
    this.#own = own
    this.#settings = settings
    this.#transport = transport
  }

  /**
   * How many messages are in the queue. A message waits there for earlier messages, for a decision of the store, or, with
   * `'delay'`, until the limiter can admit the message.
   */
  get waiting(): number {
    return this.#queue?.length ?? 0
  }

  /** Handles a message that has arrived. `pass` delivers the message. */
  take(message: Message, pass: Pass): void {
    const { waiting } = this
    if (this.#ended) return
    const { maxQueue, overLimit, isFree } = this.#settings
    if (waiting >= maxQueue || this.#transport.full?.() === true) this.#overflow(message)
    else if (isFree?.(message)) this.#takeFree(message, pass, waiting > 0)
    else if (waiting > 0 && overLimit === 'delay') this.#wait(message, pass, undefined)
    else this.#takeNow(message, pass, waiting > 0)
  }

  #takeNow(message: Message, pass: Pass, waits: boolean): void {
    const outcome = this.#decide(message)
    if (waits || isPromise(outcome) || this.#pauseOf(outcome, 0) > 0) this.#wait(message, pass, outcome)
    else this.#settle(message, pass, outcome)
  }

  /** Delivers a message that is not limited, in the order of arrival: after the messages that wait. */
  #takeFree(message: Message, pass: Pass, waits: boolean): void {
    if (waits) this.#wait(message, pass, free)
    else pass()
  }

  /**
   * Ends the limit after the socket was closed. Decides once on each waiting message. Calls `done` after the store's last decisions.
   * @param delivers false if the socket delivers nothing any more: then the limiter decides on no further message
   */
  end(done: () => void, delivers = true): void {
    this.#own?.decides()
    this.#stop((waiting) => {
      if (delivers && waiting.outcome === undefined) this.#ask(waiting)
      return waiting.outcome !== undefined
    })
    const decided = () => {
      this.#own?.decided()
      done()
    }
    if (this.waiting > 0) this.#afterEnd = decided
    else decided()
    this.#advance()
  }

  #decide(message: Message): MaybePromise<Outcome> {
    const { cost, calendar } = this.#settings
    if (!this.#asked) {
      this.#asked = true
      this.#own?.countedBy(this.limiter)
    }
    try {
      const units = typeof cost === 'function' ? costOfMessage(cost(message), this.limiter.policies) : cost
      const decision = decide(this.limiter, this.key, units, calendar && { calendar })
      return isPromise(decision) ? decision.catch((error: unknown) => ({ error })) : decision
    } catch (error) {
      return { error }
    }
  }

  /**
   * The milliseconds that a message has to wait before the limiter decides on the message again. 0 if the message can be delivered or
   * refused immediately.
   * @param waited how long the message has waited already, because others with its key have taken its units
   */
  #pauseOf(outcome: Outcome, waited: number): number {
    if (this.#settings.overLimit !== 'delay' || this.#ended) return 0
    const retryAfter = 'error' in outcome ? unavailableFor(outcome.error) : outcome.retryAfter
    const longest = this.#settings.maxWait + (waited > 0 ? 10 : 0) // timers may end too early, all together by 10 ms
    return retryAfter !== undefined && waited + retryAfter <= longest ? retryAfter : 0
  }

  #wait(message: Message, pass: Pass, outcome: MaybePromise<Outcome> | undefined): void {
    this.#queue ??= new Fifo()
    const waiting = { message, pass, outcome, size: this.#transport.sizeOf?.(message) ?? 0, waited: 0 }
    this.#queue.push(waiting)
    this.#transport.onWaiting?.(1, waiting.size)
    // Stop reading, so that TCP slows the client down: with 'delay' when one message waits, otherwise when the queue is half full.
    const { overLimit, maxQueue } = this.#settings
    if (!this.#paused && (overLimit === 'delay' || this.waiting * 2 >= maxQueue)) {
      this.#paused = true
      this.#transport.pause()
    }
    if (isPromise(outcome)) this.#settleLater(waiting, outcome)
    else if (outcome !== undefined) this.#advance()
  }

  #ask(waiting: WaitingMessage<Message>): MaybePromise<Outcome> {
    const outcome = this.#decide(waiting.message)
    waiting.outcome = outcome
    if (isPromise(outcome)) this.#settleLater(waiting, outcome)
    return outcome
  }

  #settleLater(waiting: WaitingMessage<Message>, outcome: Promise<Outcome>): void {
    void outcome.then((settled) => {
      waiting.outcome = settled
      this.#advance()
    })
  }

  /** Delivers or refuses the messages at the front of the queue, until a message has to wait. */
  #advance(): void {
    const queue = this.#queue
    if (queue === undefined || this.#advancing || this.#cancelSleep !== undefined) return
    this.#advancing = true
    for (let first = queue.first; first !== undefined && this.#advanceOne(first); first = queue.first) {}
    this.#advancing = false
    if (queue.length > 0) return
    this.#resume()
    const afterEnd = this.#afterEnd
    this.#afterEnd = undefined
    afterEnd?.()
  }

  /** Delivers or refuses the first message of the queue. Returns false if the message has to wait. */
  #advanceOne(waiting: WaitingMessage<Message>): boolean {
    const { message, pass } = waiting
    const outcome = waiting.outcome ?? this.#ask(waiting)
    if (isPromise(outcome)) return false
    const pause = this.#pauseOf(outcome, waiting.waited)
    if (pause > 0) {
      waiting.outcome = undefined
      waiting.waited += Math.min(pause, longestSleep)
      this.#sleep(pause)
      return false
    }
    this.#queue?.shift()
    this.#transport.onWaiting?.(-1, -waiting.size)
    try {
      this.#settle(message, pass, outcome)
    } catch (error) {
      // A listener that throws causes an uncaught exception, as without a limit, and later messages are still delivered.
      queueMicrotask(() => {
        throw error
      })
    }
    return true
  }

  #sleep(milliseconds: number): void {
    this.#cancelSleep = this.#settings.sleeper(Math.min(milliseconds, longestSleep), () => {
      this.#cancelSleep = undefined
      this.#advance()
    })
  }

  #settle(message: Message, pass: Pass, outcome: Outcome): void {
    if ('error' in outcome) this.#failed(message, pass, outcome.error)
    else if ('free' in outcome || outcome.allowed) pass()
    else this.#refuse({ reason: 'limit', decision: outcome, retryAfter: outcome.retryAfter, message })
  }

  #failed(message: Message, pass: Pass, error: unknown): void {
    const retryAfter = unavailableFor(error)
    if (retryAfter === undefined) this.#transport.fail(error, pass)
    else this.#refuse({ reason: 'store', decision: undefined, retryAfter, message })
  }

  #refuse(refusal: MessageRefusal<Message>, closes: boolean = this.#settings.overLimit === 'close'): void {
    const { notify } = this.#settings
    const notice = () => noticeOf(refusal, this.limiter.policies)
    if (notify !== undefined) callHook('notify', notify, refusal, 'messages')
    if (!closes) {
      if (notify === undefined) this.#transport.tell(refusal.message, notice)
      return
    }
    this.#stop(() => false)
    this.#transport.close(refusal.message, notice, notify === undefined)
  }

  /** Handles a message that arrives while the queue is full. `'delay'` must not drop a message, so `'delay'` closes the socket. */
  #overflow(message: Message): void {
    const closes = this.#settings.overLimit !== 'drop'
    this.#refuse({ reason: 'queue', decision: undefined, retryAfter: aSecond, message }, closes)
  }

  /** Ends the limit. Later messages are dropped. The queue keeps the waiting messages for which `keep` returns true. */
  #stop(keep: (waiting: WaitingMessage<Message>) => boolean): void {
    this.#ended = true
    this.#cancelSleep?.()
    this.#cancelSleep = undefined
    this.#queue?.filter((waiting) => {
      const kept = keep(waiting)
      if (!kept) this.#transport.onWaiting?.(-1, -waiting.size)
      return kept
    })
    this.#resume()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#transport.resume()
  }
}

/** The milliseconds until the limiter should call the store again, if it is unavailable. Undefined for any other error. */
function unavailableFor(error: unknown): number | undefined {
  if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_STORE_UNAVAILABLE') return undefined
  return Math.max(1, error.retryAfter ?? aSecond)
}
