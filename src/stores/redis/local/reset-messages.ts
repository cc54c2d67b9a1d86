/*
 * Tells the other processes which keys were reset, so that no process repeats an older refusal or spends an older lease. If a
 * message is lost with its connection, a refusal stays for as long as the cache of refusals repeats it.
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

/** No key of a state contains a line feed. */
const separator = '\n'

/** At the end of a name: all keys that begin with the text before it. No key of a state ends with it. */
const all = '*'

export class ResetMessages {
  readonly #publisher: Publisher
  readonly #channel: string
  #stop: (() => Promise<unknown>) | undefined

  /**
   * @param subscriber a connection for nothing else, because a connection that subscribes cannot run other commands
   * @param caches the caches that drop the keys that were reset
   * @throws HeadgateError `HEADGATE_OPTION` if `subscriber` is no client
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
      for (const cache of caches) {
        if (message.endsWith(all)) cache.forgetAll(message.slice(0, -all.length))
        else cache.forget(message.split(separator))
      }
    }
    const { subscribed, stop } = listen(subscriber, channel, listener)
    this.#stop = stop
    subscribed.catch((error: unknown) => {
      warnOnce(
        'HEADGATE_SUBSCRIBER',
        `redisStore cannot subscribe to resets, so they reach this process late. Connect the subscriber first. ${reason(error)}`,
      )
    })
  }

  /** Listens no more. The subscriber stays connected, and keeps its other subscriptions. */
  close(): void {
    this.#stop?.().catch(() => undefined)
    this.#stop = undefined
  }

  /** Publishes a reset. Nobody waits for the result. */
  publish(keys: readonly string[]): void {
    this.#publisher.publish(this.#channel, keys.join(separator)).catch(() => undefined)
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
