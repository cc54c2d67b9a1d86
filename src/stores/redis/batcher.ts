import { setImmediate, setTimeout } from 'node:timers'
import { Deadlines } from '../deadlines.ts'
import { exchanged, exchangeStart } from '../exchange.ts'
import { Batch } from './batch.ts'
import type { BatcherOptions } from './batcher-options.ts'
import type { Message } from './message.ts'
import { OpenBatches } from './open-batches.ts'
import { causeOf, isReadOnly } from './redis-error.ts'
import { RedisNode } from './redis-node.ts'
import { RoundTrips } from './round-trips.ts'
import type { ScriptRequest } from './script-request.ts'

/** How many calls Redis is trusted to decide in a millisecond, to find out how many may be under way at once. */
const trustedRate = 5

/** How many timeouts a call waits for its turn at most, as long as Redis answers others in time. */
const mostTurns = 10

/** A batch of fewer requests stays whole. A larger one that follows an answer leaves in two halves, if nothing is under way. */
const many = 8

/** After a batch of at most this many requests, the next one does not wait for all calls of the turn. */
const some = 16

/** How often the batcher looks for a connection while it has none, in milliseconds. */
const reconnectPoll = 2

/** Collects requests into batches, sends them to Redis, and settles each request within the timeout. */
export class Batcher {
  readonly options: BatcherOptions
  readonly problem: () => unknown
  readonly nodeProblem: (slot: number) => unknown
  readonly #deadlines: Deadlines
  readonly #open: OpenBatches
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
  readonly #roundTrips = new RoundTrips()
  /** How many batches were answered in time. */
  #answers = 0
  #flushing = false
  #polling = false

  constructor(options: BatcherOptions) {
    this.options = options
    this.problem = () => (options.connection.ready() ? undefined : options.connection.problem())
    this.nodeProblem = options.connection.nodeProblem
    const { connection, timeout, ttlMargin } = options
    const { cluster } = connection
    this.#deadlines = new Deadlines('Redis', timeout)
    const begin = (message: Message, slot: number) => this.#begin(message, slot)
    this.#open = new OpenBatches({ cluster, ttlMargin, begin, close: (batch) => this.#ready.push(batch) })
    connection.onLost(() => {
      for (const batch of this.#sent) batch.withdraw()
    })
  }

  /** Requests of one turn of the event loop travel together. */
  send(request: ScriptRequest): void {
    const batch = this.#open.add(request)
    if (batch.size >= this.#fullSize) {
      this.#open.remove(batch)
      this.#ready.push(batch)
    }
    if (this.options.size === 1) this.#sendReady()
    else this.#flushLater()
  }

  /** A burst must not wait for itself: the more batches wait for their turn, the larger is the next one. */
  get #fullSize(): number {
    const { size, most } = this.options
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

  #begin(message: Message, slot: number): Batch {
    this.options.connection.checkListener()
    const batch = new Batch(this, message, slot)
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
    const { connection, size, most, timeout } = this.options
    return size < most && !connection.cluster && this.#underWay >= timeout * trustedRate
  }

  /** Called when a batch was not answered in time. */
  unanswered({ slot }: Batch): void {
    const { connection, reconnectAfter } = this.options
    if (this.#nodeOf(slot).isSilentFor(reconnectAfter * 1000)) connection.reconnect(slot)
  }

  /** True if a batch that was not sent may wait on: others were answered since it began to wait. */
  postpone(batch: Batch): boolean {
    const { connection, timeout } = this.options
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

  /** True if the one batch that is under way left so short a time ago that another should wait. */
  get #tooEarly(): boolean {
    return this.#sent.length === 1 && this.#underWay >= many / 2 && this.#near && this.#roundTrips.tooEarly
  }

  get #near(): boolean {
    const { connection, size } = this.options
    return this.#roundTrips.short && size > 1 && !connection.cluster
  }

  readonly #flush = (): void => {
    this.#flushing = this.#tooEarly
    if (this.#flushing) setImmediate(this.#flush)
    if (this.#flushing || this.#busy) return
    if (!this.#overlaps) this.#open.closeAll()
    this.#sendReady()
  }

  /**
   * A single server gets one full batch a turn of the event loop. It decides one while the client writes the next, even if
   * the client puts all commands of a turn into one write.
   */
  #sendReady(): void {
    const { connection, size } = this.options
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

  /** Redis decides one half while this process handles the answers of the other, and the calls that follow them. */
  #halfOf({ message, slot }: Batch): Batch | undefined {
    const alone = this.#sent.length + this.#ready.length === 0 && this.#near
    const half = alone && message.size >= many && this.#roundTrips.continuous ? message.split() : undefined
    return half && this.#begin(half, slot)
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
    const { script = this.options.script, size } = batch.message
    // If it had to wait for its turn behind others that were answered, its time begins now.
    if (batch.turns > 0 || this.#answers !== batch.answersBefore) this.#deadlines.restart(batch)
    batch.sent = true
    batch.sentAt = exchangeStart()
    const node = this.#nodeOf(batch.slot)
    const begin = this.#roundTrips.sent()
    node.asked(begin)
    this.#sent.push(batch)
    this.#underWay += size
    if (!node.has(script)) this.#loading = batch
    const failed = (error: unknown) => {
      node.answered()
      if (isReadOnly(error)) this.options.connection.leaveReplica(this.options.reconnectAfter)
      batch.fail(causeOf(error, this.options.connection))
    }
    const answered = (reply: unknown) => {
      this.#roundTrips.answered(begin)
      node.answered(script)
      if (!batch.settled) this.#answers++
      batch.receive(reply)
    }
    batch.evaluate(this.options.connection, script, node, { answered, failed })
  }

  #nodeOf(slot: number): RedisNode {
    const name = this.options.connection.nodeOf(slot)
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
      this.#open.remove(batch)
      return
    }
    const last = this.#sent.pop() as Batch
    if (last !== batch) this.#sent[at] = last
    this.#underWay -= size
    this.#lastSize = size
    exchanged('redis', batch.sentAt, size, error)
    if (this.#ready.length > 0 || !this.#open.none) this.#flushLater()
  }
}
