import { setImmediate, setTimeout } from 'node:timers'
import { monotonicClock } from '../../clock.ts'
import { Deadlines } from '../deadlines.ts'
import { exchanged, exchangeStart } from '../exchange.ts'
import { Batch } from './batch.ts'
import type { Connection } from './client.ts'
import { slotOf } from './keys.ts'
import { type Call, messageOf } from './message.ts'
import { causeOf, isReadOnly } from './redis-error.ts'
import { RedisNode } from './redis-node.ts'
import type { Script } from './script.ts'
import type { ScriptRequest } from './script-request.ts'
import type { ScriptResponse } from './script-response.ts'

/** How many calls Redis is trusted to decide in a millisecond, to find out how many may be under way at once. */
const trustedRate = 5

/** How many timeouts a call waits for its turn at most, as long as Redis answers others in time. */
const mostTurns = 10

/** A batch of fewer requests stays whole. */
const many = 8

/** A round trip for which a call may wait, in microseconds. */
const shortRoundTrip = 1000

/** After a batch of at most this many requests, the next one does not wait for all calls of the turn. */
const some = 16

/** How often the batcher looks for a connection while it has none, in milliseconds. */
const reconnectPoll = 2

interface BatcherOptions {
  readonly connection: Connection
  /** The whole script, which decides anything. */
  readonly script: Script
  /** How long a request may take, in milliseconds. */
  readonly timeout: number
  /** In milliseconds. */
  readonly ttlMargin: number
  /** The most requests in a batch as long as no other batch waits; with 1, each is sent at once. */
  readonly size: number
  /** The most requests in a batch that waits behind others. */
  readonly most: number
  /** After how many milliseconds without any answer the client is told to connect anew. */
  readonly reconnectAfter: number
}

/** Collects requests into batches, sends them to Redis, and settles each request within the timeout. */
export class Batcher {
  readonly #options: BatcherOptions
  readonly problem: () => unknown
  readonly nodeProblem: (slot: number) => unknown
  readonly #deadlines: Deadlines
  /** The batches that still grow, by limiter and slot: requests of one limiter keep their order. */
  #open = new Map<string, Batch>()
  /** Batches that are ready to be sent, in their order. They wait if there is no connection. */
  #ready: Batch[] = []
  readonly #sent: Batch[] = []
  readonly #nodes = new Map<string, RedisNode>()
  /** The batch that may have to bring its script: those behind it would overtake it. */
  #loading: Batch | undefined
  /** How many requests the batches have that are sent. */
  #underWay = 0
  /** How many requests the last batch had that was settled. */
  #lastSize = 0
  /** How long the last batch was under way, and when its answer was here, in microseconds. */
  #roundTrip = Infinity
  #answeredAt = 0
  /** How many batches were answered in time. */
  #answers = 0
  #flushing = false
  #polling = false

  constructor(options: BatcherOptions) {
    const { connection, timeout } = options
    this.#options = options
    this.problem = () => (connection.ready() ? undefined : connection.problem())
    this.nodeProblem = connection.nodeProblem
    this.#deadlines = new Deadlines('Redis', timeout)
    connection.onLost(() => {
      for (const batch of this.#sent) batch.withdraw()
    })
  }

  /** Requests of one limiter and one turn of the event loop travel together. Resolves to what `read` makes of the response. */
  send<T>(request: ScriptRequest, read: (response: ScriptResponse) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const batch = this.#batchFor(request)
      batch.calls.push({ request, receive: (response) => resolve(read(response)), reject })
      if (batch.calls.length >= this.#fullSize) {
        this.#shut(batch)
        this.#ready.push(batch)
      }
      if (this.#options.size === 1) this.#sendReady()
      else this.#flushLater()
    })
  }

  #batchFor({ plan, keys }: ScriptRequest): Batch {
    const slot = this.#options.connection.cluster ? slotOf(keys[0] as string) : 0
    const name = slot === 0 ? plan.limiter : `${slot} ${plan.limiter}`
    let batch = this.#open.get(name)
    if (batch === undefined) {
      batch = this.#begin(name, slot, [])
      this.#open.set(name, batch)
    }
    return batch
  }

  /** Lets a batch grow no more. */
  #shut(batch: Batch): void {
    if (this.#open.get(batch.name) === batch) this.#open.delete(batch.name)
  }

  #shutAll(): void {
    if (this.#open.size === 0) return
    this.#ready.push(...this.#open.values())
    // A new Map: one that is cleared or grows replaces its table, and the old table, once in V8's old generation, would
    // keep the new one and all it refers to alive until the next full collection.
    this.#open = new Map()
  }

  /** A burst must not wait for itself: the more batches wait for their turn, the larger is the next one. */
  get #fullSize(): number {
    const { size, most } = this.#options
    const waiting = this.#ready.length
    return waiting === 0 ? size : Math.min(most, size * 2 ** waiting)
  }

  /** Keeps one deadline over several requests that follow each other. */
  within<T>(answer: Promise<T>, late?: (answer: T) => void): Promise<T> {
    return this.#deadlines.bound(answer, late)
  }

  /** The same for a question that is no request. */
  reading<T>(answer: Promise<T>): Promise<T> {
    return this.#deadlines.reading(answer)
  }

  #begin(name: string, slot: number, calls: Call[]): Batch {
    this.#options.connection.checkListener()
    const batch = new Batch(this, name, slot, calls)
    batch.answersBefore = this.#answers
    this.#deadlines.add(batch)
    return batch
  }

  #flushLater(): void {
    if (this.#flushing) return
    this.#flushing = true
    // With few calls at once, there is little to collect.
    if (this.#lastSize <= some && (this.#underWay === 0 || this.#near)) queueMicrotask(this.#flush)
    else setImmediate(this.#flush)
  }

  /**
   * True if so many calls are under way that more would time out behind them. They wait here instead, where batches grow.
   * Not in a Cluster, where each node has its own calls, and not for batches of a fixed size.
   */
  get #busy(): boolean {
    const { connection, size, most, timeout } = this.#options
    return size < most && !connection.cluster && this.#underWay >= timeout * trustedRate
  }

  /** Called when a batch was not answered in time. */
  unanswered({ slot }: Batch): void {
    const { connection, reconnectAfter } = this.#options
    if (this.#nodeOf(slot).isSilentFor(reconnectAfter * 1000)) connection.reconnect(slot)
  }

  /** True if a batch that was not sent may wait on: others were answered since it began to wait. */
  postpone(batch: Batch): boolean {
    const { connection, timeout } = this.#options
    if (!connection.ready() || this.#answers === batch.answersBefore || ++batch.turns > mostTurns) return false
    if (timeout === Infinity) return false
    batch.answersBefore = this.#answers
    this.#deadlines.add(batch)
    return true
  }

  /**
   * True if Redis has one batch to decide while another one is on its way. A third would wait there for both, so it grows here
   * instead. It costs a call at most the way to Redis, so that has to be short.
   */
  get #overlaps(): boolean {
    return this.#near && this.#sent.length >= 2
  }

  get #near(): boolean {
    const { connection, size } = this.#options
    return this.#roundTrip < shortRoundTrip && size > 1 && !connection.cluster
  }

  readonly #flush = (): void => {
    this.#flushing = false
    if (this.#busy) return
    if (!this.#overlaps) this.#shutAll()
    this.#sendReady()
  }

  /**
   * A single server gets one full batch a turn of the event loop. It decides one while the client writes the next, even if
   * the client puts all commands of a turn into one write.
   */
  #sendReady(): void {
    const { connection, size } = this.#options
    if (!connection.ready()) {
      this.#awaitConnection()
      return
    }
    if (this.#busy) return
    const together = connection.cluster || size === 1
    let left = together ? Infinity : 1
    while (left-- > 0 && this.#ready.length > 0 && !this.#loading) {
      const batch = this.#ready.shift() as Batch
      if (batch.settled) continue
      const half = this.#halfOf(batch)
      this.#run(batch)
      if (half !== undefined) this.#ready.push(half)
    }
    if (this.#ready.length > 0 && !this.#loading) this.#flushLater()
  }

  /**
   * The later half of a batch that follows an answer at once, if nothing else is under way: Redis decides one half while this
   * process handles the answers of the other, and the calls that follow them.
   */
  #halfOf({ name, slot, calls }: Batch): Batch | undefined {
    const alone = this.#sent.length + this.#ready.length === 0 && this.#near
    if (!alone || calls.length < many || monotonicClock() - this.#answeredAt >= this.#roundTrip) return undefined
    return this.#begin(name, slot, calls.splice(Math.ceil(calls.length / 2)))
  }

  #awaitConnection(): void {
    this.#ready = this.#ready.filter((batch) => !batch.settled)
    if (this.#polling || this.#ready.length === 0) return
    this.#polling = true
    setTimeout(() => {
      this.#polling = false
      this.#sendReady()
    }, reconnectPoll)
  }

  #run(batch: Batch): void {
    const { connection, script: whole, ttlMargin, reconnectAfter } = this.#options
    // If it had to wait for its turn behind others that were answered, its time begins now.
    if (batch.turns > 0 || this.#answers !== batch.answersBefore) this.#deadlines.restart(batch)
    batch.sent = true
    batch.sentAt = exchangeStart()
    const node = this.#nodeOf(batch.slot)
    const message = messageOf(batch.calls, whole, ttlMargin)
    const { script } = message
    const sentAt = monotonicClock()
    node.asked(sentAt)
    this.#sent.push(batch)
    this.#underWay += message.calls.length
    if (!node.has(script)) this.#loading = batch
    const answered = (reply: unknown) => {
      this.#answeredAt = monotonicClock()
      this.#roundTrip = this.#answeredAt - sentAt
      node.answered(script)
      if (!batch.settled) this.#answers++
      batch.receive(reply)
    }
    const failed = (error: unknown) => {
      node.answered()
      if (isReadOnly(error)) connection.leaveReplica(reconnectAfter)
      batch.fail(causeOf(error, connection))
    }
    batch.evaluate(connection, message, node).then(answered, failed)
  }

  #nodeOf(slot: number): RedisNode {
    const name = this.#options.connection.nodeOf(slot)
    const node = this.#nodes.get(name) ?? new RedisNode()
    this.#nodes.set(name, node)
    return node
  }

  /** Called by a batch that is settled. */
  settled(batch: Batch, size: number, error?: unknown): void {
    this.#deadlines.remove(batch)
    if (this.#loading === batch) this.#loading = undefined
    const at = this.#sent.indexOf(batch)
    if (at < 0) {
      this.#shut(batch)
      return
    }
    const last = this.#sent.pop() as Batch
    if (last !== batch) this.#sent[at] = last
    this.#underWay -= size
    this.#lastSize = size
    exchanged('redis', batch.sentAt, size, error)
    if (this.#ready.length > 0 || this.#open.size > 0) this.#flushLater()
  }
}
