/*
 * Tells other processes which keys were reset, so that they remove cached refusals and leased units (units taken in advance) of
 * these keys. Messages are lost while the connection of a subscriber is broken. So when it subscribes again, the process removes what it has
 * of all keys.
 */
import { invalidOption, reason, warnOnce } from '../../../common/index.ts'
import type { RedisClient } from '../client/index.ts'
import type { CacheEntry, KeyCache } from './key-cache.ts'

export interface Publisher {
  publish(channel: string, message: string): Promise<unknown>
}

type Listener = (message: string) => void

interface IoredisSubscriber {
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  listenerCount(event: 'message'): number
  off(event: 'message', listener: (channel: string, message: string) => void): unknown
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
}

interface NodeRedisSubscriber {
  subscribe(channel: string, listener: Listener): Promise<unknown>
  unsubscribe(channel: string, listener: Listener): Promise<unknown>
}

/** The event of a client after each connection. node-redis has then subscribed again, and ioredis has sent the request to do so. */
interface ReadyEvents {
  on?(event: 'ready', listener: () => void): unknown
  off?(event: 'ready', listener: () => void): unknown
}

/** Separates the keys of a message, and the sender before them: no Redis key of headgate contains a line feed. */
const separator = '\n'

/** A message that ends with `*` names all keys that begin with the text before `*`. No Redis key of headgate ends with `*`. */
const all = '*'

export class ResetMessages {
  readonly #publisher: Publisher
  readonly #channel: string
  /** The sender of the own messages, which change nothing here: what was cached since the reset is not older than the reset. */
  readonly #sender: string = crypto.randomUUID()
  #stop: (() => Promise<unknown>) | undefined

  /**
   * @param subscriber a second client, used only to subscribe, because Redis accepts no other commands on such a connection
   * @param caches the caches from which the keys that were reset are removed
   * @throws HeadgateError `HEADGATE_OPTION` if `subscriber` is no supported client
   */
  constructor(
    client: RedisClient,
    subscriber: RedisClient,
    channel: string,
    caches: readonly Pick<KeyCache<CacheEntry>, 'forget' | 'forgetAll'>[],
  ) {
    checkSubscriber(client, subscriber)
    this.#publisher = client as unknown as Publisher
    this.#channel = channel
    const listener: Listener = (message) => {
      const lines = message.split(separator) // maybe without a sender
      if (lines[0] === this.#sender) return
      for (const cache of caches) {
        if (message.endsWith(all)) cache.forgetAll((lines.at(-1) as string).slice(0, -all.length))
        else cache.forget(lines)
      }
    }
    const { subscribed, stop } = listen(subscriber, channel, listener)
    const events = subscriber as unknown as ReadyEvents
    const forget = () => listener(all)
    const onReady = () => {
      if ('evalSha' in subscriber) forget()
      else (subscriber as unknown as IoredisSubscriber).subscribe(channel).then(forget, forget)
    }
    events.on?.('ready', onReady)
    this.#stop = () => {
      events.off?.('ready', onReady)
      return stop()
    }
    subscribed.catch((error: unknown) => {
      warnOnce(
        'HEADGATE_SUBSCRIBER',
        `redisStore cannot subscribe to resets, so they reach this process late. Connect the subscriber first. ${reason(error)}`,
      )
    })
  }

  /** Stops listening for resets. The client stays connected, and its other subscriptions stay. */
  close(): void {
    this.#stop?.().catch(() => undefined)
    this.#stop = undefined
  }

  /** Publishes that these keys were reset. Does not wait for the result. */
  publish(keys: readonly string[]): void {
    this.#publisher.publish(this.#channel, [this.#sender, ...keys].join(separator)).catch(() => undefined)
  }

  /** Publishes that all keys which begin with `start` were reset. */
  publishAll(start: string): void {
    this.publish([start + all])
  }
}

interface Subscription {
  readonly subscribed: Promise<unknown>
  readonly stop: () => Promise<unknown>
}

function listen(subscriber: RedisClient, channel: string, listener: Listener): Subscription {
  if ('evalSha' in subscriber) {
    const nodeRedis = subscriber as unknown as NodeRedisSubscriber
    const stop = () => nodeRedis.unsubscribe(channel, listener)
    return { subscribed: nodeRedis.subscribe(channel, listener), stop }
  }
  const ioredis = subscriber as unknown as IoredisSubscriber
  const onMessage = (from: string, message: string) => {
    if (from === channel) listener(message)
  }
  ioredis.on('message', onMessage)
  const stop = () => {
    ioredis.off('message', onMessage)
    return ioredis.listenerCount('message') > 0 ? Promise.resolve() : ioredis.unsubscribe(channel)
  }
  return { subscribed: ioredis.subscribe(channel), stop }
}

function checkSubscriber(client: object, subscriber: unknown): void {
  const can = typeof subscriber === 'object' && subscriber !== null && 'subscribe' in subscriber
  if (can && subscriber !== client && 'publish' in client) return
  const fix = 'Write redisStore({ client, subscriber: client.duplicate() }), and connect it.'
  throw invalidOption('redisStore: subscriber', 'a client of its own that can subscribe', subscriber, fix)
}
