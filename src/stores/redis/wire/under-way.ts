import { monotonicClock } from '../../../common/index.ts'
import { exchanged, exchangeStart } from '../../contract/index.ts'
import { type Connection, causeOf, isGivenUp, isReadOnly } from '../client/index.ts'
import type { Script } from '../script/index.ts'
import type { Batch } from './batch.ts'
import { messageOf } from './message.ts'
import { RedisNode } from './node-notes.ts'

export interface BatcherOptions {
  readonly connection: Connection
  /** The script that can decide every request. For some batches, a shorter script is sent. */
  readonly script: Script
  /** How long a request may take before it fails, in milliseconds. */
  readonly timeout: number
  /** For how many milliseconds Redis stores a key after the key has its full quota again. */
  readonly ttlMargin: number
  /** The most requests in a batch while no other batch waits to be sent. With 1, each request is sent separately. */
  readonly size: number
  /** The most requests in a batch, however many batches wait to be sent before it. */
  readonly most: number
  /** The time without any answer of Redis, in milliseconds, after which the store makes the client reconnect. */
  readonly reconnectAfter: number
}

/**
 * How many calls Redis is assumed to decide in a millisecond. The calls under way are limited to the number that Redis decides within the
 * timeout at this rate. Further calls wait in this process.
 */
const trustedRate = 5

/** Calls wait to be collected into larger batches only if a round trip takes at most this time, in microseconds. */
const shortRoundTrip = 1000

/** The batches that were sent and that Redis has not answered yet, and measurements of the last answers. */
export class UnderWay {
  readonly #options: BatcherOptions
  readonly #batches: Batch[] = []
  readonly #nodes = new Map<string, RedisNode>()
  /** Batches whose node may not have their script. Such a batch may be sent twice, and later batches must not run before it. */
  readonly #loading = new Map<Batch, RedisNode>()
  /** How many requests the batches without an answer have together. */
  requests = 0
  /** The number of requests in the batch that ended last. */
  lastSize = 0
  /** How many batches were answered before their deadlines. */
  answers = 0
  /** The round trip of the batch that was answered last, in microseconds. */
  #roundTrip = Infinity
  #answeredAt = 0

  constructor(options: BatcherOptions) {
    this.#options = options
    options.connection.onLost(() => {
      for (const batch of this.#batches) batch.withdraw()
    })
  }

  /** How many batches were sent that Redis has not answered yet. */
  get size(): number {
    return this.#batches.length
  }

  /**
   * True while the batch may not be sent. An earlier batch for the same node may have to be sent again, with the text of its script, and
   * has to run first.
   */
  isHeldBack({ slot }: Batch): boolean {
    return this.#loading.size > 0 && [...this.#loading.values()].includes(this.#nodeOf(slot))
  }

  /**
   * True if so many calls are under way that more calls would time out. In this case, further calls wait in this process and are
   * collected into larger batches. Always false for batches of a fixed size, and in a Cluster, because the number of all calls does not
   * show how busy one node is.
   */
  get isBusy(): boolean {
    const { connection, size, most, timeout } = this.#options
    return size < most && !connection.cluster && this.requests >= timeout * trustedRate
  }

  /** True if the last round trip was so short that calls may wait to be collected into larger batches. */
  get isNear(): boolean {
    const { connection, size } = this.#options
    return this.#roundTrip < shortRoundTrip && size > 1 && !connection.cluster
  }

  /** True if the last answer of Redis came less than a round trip ago. */
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
    node.asked(sentAt, connection.received(batch.slot))
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
      if (isGivenUp(error)) this.unanswered(batch)
      else node.answered()
      if (isReadOnly(error)) connection.leaveReplica(reconnectAfter)
      batch.fail(causeOf(error, connection))
    }
    batch.evaluate(message, node).then(answered, failed)
  }

  /** Called when every call of a batch has its response or an error. */
  remove(batch: Batch, size: number, error: unknown): void {
    this.#loading.delete(batch)
    const last = this.#batches.pop() as Batch
    if (last !== batch) this.#batches[this.#batches.indexOf(batch)] = last
    this.requests -= size
    this.lastSize = size
    exchanged('redis', batch.sentAt, size, error)
  }

  /** Called when a batch gets no answer of Redis before its deadline, also if it was not sent because there is no connection. */
  unanswered({ slot, sent }: Batch): void {
    const { connection, reconnectAfter } = this.#options
    const node = this.#nodeOf(slot)
    if (!sent && !connection.ready()) node.waited(monotonicClock())
    const { answers } = node
    if (node.isSilentFor(reconnectAfter * 1000, connection.received(slot)))
      connection.reconnect(slot, () => node.answers === answers)
  }

  #nodeOf(slot: number): RedisNode {
    const name = this.#options.connection.nodeOf(slot)
    const node = this.#nodes.get(name) ?? new RedisNode()
    this.#nodes.set(name, node)
    return node
  }
}
