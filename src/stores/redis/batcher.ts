import { setImmediate } from 'node:timers'
import { monotonicClock } from '../../clock.ts'
import { Deadlines } from '../deadlines.ts'
import { exchanged, exchangeStart } from '../exchange.ts'
import { Batch } from './batch.ts'
import type { Connection } from './client.ts'
import type { Message } from './message.ts'
import { OpenBatches } from './open-batches.ts'
import { evaluate, type Script } from './script.ts'
import type { ScriptRequest } from './script-request.ts'

export interface BatcherOptions {
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

/** How many calls Redis is trusted to decide in a millisecond, to find out how many may be under way at once. */
const trustedRate = 5

/** How many timeouts a call waits for its turn at most, as long as Redis answers others in time. */
const mostTurns = 10

/** A batch of at most this many requests is sent at once if nothing is under way. */
const few = 4

/** How often the batcher looks for a connection while it has none, in milliseconds. */
const reconnectPoll = 2

/** Collects requests into batches, sends them to Redis, and settles each request within the timeout. */
export class Batcher {
  readonly options: BatcherOptions
  readonly problem: () => unknown
  readonly #deadlines: Deadlines
  readonly #open: OpenBatches
  /** Batches that are ready to be sent, in their order. They wait if there is no connection. */
  #ready: Batch[] = []
  readonly #sent: Batch[] = []
  /** The scripts that Redis has. */
  readonly #known = new WeakSet<Script>()
  /** The batch that may have to bring its script: those behind it would overtake it. */
  #loading: Batch | undefined
  /** How many requests these have. */
  #underWay = 0
  /** How many requests the last batch had that was settled. */
  #lastSize = 0
  /** How many batches were answered in time. */
  #answers = 0
  /** By node: when the first of the batches was sent that it has not answered, in microseconds. Not for a node that answers. */
  readonly #silentSince = new Map<string, number>()
  #flushing = false
  #polling = false

  constructor(options: BatcherOptions) {
    this.options = options
    this.problem = () => (options.connection.ready() ? undefined : options.connection.problem())
    this.#deadlines = new Deadlines('Redis', options.timeout)
    const { connection, ttlMargin } = options
    this.#open = new OpenBatches({
      cluster: connection.cluster,
      ttlMargin,
      begin: (message, slot) => this.#begin(message, slot),
      close: (batches) => this.#ready.push(...batches),
    })
    connection.onLost(() => {
      for (const batch of this.#sent) batch.withdraw()
    })
  }

  /** Requests of one turn of the event loop travel together. */
  send(request: ScriptRequest): void {
    const batch = this.#open.add(request)
    const { size, most } = this.options
    // A burst must not wait for itself: the more batches wait for their turn, the larger is the next one.
    const waiting = this.#ready.length
    if (batch.size < size || (waiting > 0 && batch.size < Math.min(most, size * 2 ** waiting))) {
      this.#flushLater()
      return
    }
    this.#open.remove(batch)
    this.#ready.push(batch)
    if (size === 1) this.#sendReady()
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
    // With few calls at once, there is little to collect and nothing to overlap.
    if (this.#underWay === 0 && this.#lastSize <= few) queueMicrotask(this.#flush)
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

  /**
   * Called when a batch was not answered in time. A connection whose other end is gone, without a word, looks like a server that
   * hangs, until the client opens another.
   */
  unanswered({ slot }: Batch): void {
    const { connection, reconnectAfter } = this.options
    const node = connection.nodeOf(slot)
    const since = this.#silentSince.get(node)
    if (since === undefined || monotonicClock() - since < reconnectAfter * 1000) return
    this.#silentSince.delete(node)
    connection.reconnect(slot)
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

  readonly #flush = (): void => {
    this.#flushing = false
    if (this.#busy) return
    this.#open.closeAll()
    this.#sendReady()
  }

  /**
   * A single server gets one batch a turn of the event loop. It decides one while the client writes the next, even if
   * the client puts all commands of a turn into one write.
   */
  #sendReady(): void {
    const { connection, size } = this.options
    if (!connection.ready()) {
      this.#awaitConnection()
      return
    }
    if (this.#busy) return
    let left = connection.cluster || size === 1 ? Infinity : 1
    while (left-- > 0 && this.#ready.length > 0 && !this.#loading) {
      const batch = this.#ready.shift() as Batch
      if (!batch.settled) void this.#run(batch)
    }
    if (this.#ready.length > 0 && !this.#loading) this.#flushLater()
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

  async #run(batch: Batch): Promise<void> {
    const { keys, script = this.options.script, size } = batch.message
    const args = batch.message.args()
    if (batch.turns > 0 || this.#answers !== batch.answersBefore) {
      // It had to wait for its turn, so its time begins now.
      this.#deadlines.remove(batch)
      this.#deadlines.add(batch)
    }
    batch.sent = true
    batch.sentAt = exchangeStart()
    const node = this.options.connection.nodeOf(batch.slot)
    if (!this.#silentSince.has(node)) this.#silentSince.set(node, monotonicClock())
    this.#sent.push(batch)
    this.#underWay += size
    if (!this.#known.has(script)) this.#loading = batch
    try {
      const reply = await evaluate(this.options.connection, script, keys, args)
      this.#silentSince.delete(node)
      this.#known.add(script)
      if (!batch.settled) this.#answers++
      batch.receive(reply)
    } catch (error) {
      this.#silentSince.delete(node)
      batch.fail(this.#causeOf(error))
    }
  }

  /** ioredis says no more than that its connection is closed. */
  #causeOf(error: unknown): unknown {
    if (!(error instanceof Error && error.message.startsWith('Connection is closed'))) return error
    return this.options.connection.problem() ?? error
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
