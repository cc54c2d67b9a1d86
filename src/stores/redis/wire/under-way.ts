import { monotonicClock } from '../../../common/index.ts'
import { exchanged, exchangeStart } from '../../contract/index.ts'
import { type Connection, causeOf, isReadOnly } from '../client/index.ts'
import type { Script } from '../script/index.ts'
import type { Batch } from './batch.ts'
import { messageOf } from './message.ts'
import { RedisNode } from './node-notes.ts'

export interface BatcherOptions {
  readonly connection: Connection
  /** The whole script, which can decide every request. */
  readonly script: Script
  /** How long a request may take, in milliseconds. */
  readonly timeout: number
  /** How much longer than its quota a key lives, in milliseconds. */
  readonly ttlMargin: number
  /** The most requests in a batch while no other batch waits to be sent; with 1, each request is sent at once. */
  readonly size: number
  /** The most requests in a batch, however many batches wait to be sent before it. */
  readonly most: number
  /** After how many milliseconds without any answer the client is told to reconnect. */
  readonly reconnectAfter: number
}

/** How many calls Redis is assumed to decide in a millisecond: more are not sent at once than it decides within the timeout. */
const trustedRate = 5

/** The longest round trip at which a call waits for other calls, in microseconds. */
const shortRoundTrip = 1000

/** The batches that were sent and have no answer yet, and what the last answers show about the connection. */
export class UnderWay {
  readonly #options: BatcherOptions
  readonly #batches: Batch[] = []
  readonly #nodes = new Map<string, RedisNode>()
  /** Batches that may have to send their script to their node: batches behind them would overtake them there. */
  readonly #loading = new Map<Batch, RedisNode>()
  /** How many requests all these batches have. */
  requests = 0
  /** How many requests the last settled batch had. */
  lastSize = 0
  /** How many batches were answered in time. */
  answers = 0
  /** The round trip of the last answered batch, and when it was answered, in microseconds. */
  #roundTrip = Infinity
  #answeredAt = 0

  constructor(options: BatcherOptions) {
    this.#options = options
    options.connection.onLost(() => {
      for (const batch of this.#batches) batch.withdraw()
    })
  }

  /** How many batches are under way. */
  get size(): number {
    return this.#batches.length
  }

  /** True while the batch may not be sent, because its node may have to load a script first. */
  isHeldBack({ slot }: Batch): boolean {
    return this.#loading.size > 0 && [...this.#loading.values()].includes(this.#nodeOf(slot))
  }

  /**
   * True if so many calls are under way that more calls would time out behind them. More calls then wait here, where batches
   * grow. Never in a Cluster, where each node has its own calls, and never for batches of a fixed size.
   */
  get isBusy(): boolean {
    const { connection, size, most, timeout } = this.#options
    return size < most && !connection.cluster && this.requests >= timeout * trustedRate
  }

  /** True if the round trip is so short that a call may wait for other calls. */
  get isNear(): boolean {
    const { connection, size } = this.#options
    return this.#roundTrip < shortRoundTrip && size > 1 && !connection.cluster
  }

  /** True if a batch that is sent now follows right after an answer. More calls will then follow the next answer. */
  get isContinuous(): boolean {
    return monotonicClock() - this.#answeredAt < this.#roundTrip
  }

  send(batch: Batch): void {
    const { connection, script: whole, ttlMargin, reconnectAfter } = this.#options
    batch.sent = true
    batch.sentAt = exchangeStart()
    const node = this.#nodeOf(batch.slot)
    const message = messageOf(batch.calls, whole, ttlMargin)
    const { script } = message
    const sentAt = monotonicClock()
    node.asked(sentAt)
    this.#batches.push(batch)
    this.requests += message.calls.length
    if (!node.has(script)) this.#loading.set(batch, node)
    const answered = (reply: unknown) => {
      this.#answeredAt = monotonicClock()
      this.#roundTrip = this.#answeredAt - sentAt
      node.answered(script)
      if (!batch.settled) this.answers++
      batch.receive(reply)
    }
    const failed = (error: unknown) => {
      node.answered()
      if (isReadOnly(error)) connection.leaveReplica(reconnectAfter)
      batch.fail(causeOf(error, connection))
    }
    batch.evaluate(message, node).then(answered, failed)
  }

  /** Called when a batch is settled. */
  remove(batch: Batch, size: number, error: unknown): void {
    this.#loading.delete(batch)
    const last = this.#batches.pop() as Batch
    if (last !== batch) this.#batches[this.#batches.indexOf(batch)] = last
    this.requests -= size
    this.lastSize = size
    exchanged('redis', batch.sentAt, size, error)
  }

  /** Called when a batch was not answered in time. */
  unanswered({ slot }: Batch): void {
    const { connection, reconnectAfter } = this.#options
    if (this.#nodeOf(slot).isSilentFor(reconnectAfter * 1000)) connection.reconnect(slot)
  }

  #nodeOf(slot: number): RedisNode {
    const name = this.#options.connection.nodeOf(slot)
    const node = this.#nodes.get(name) ?? new RedisNode()
    this.#nodes.set(name, node)
    return node
  }
}
