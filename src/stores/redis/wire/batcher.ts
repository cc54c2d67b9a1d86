import { setImmediate, setTimeout } from 'node:timers'
import { Deadlines } from '../../contract/index.ts'
import type { Connection } from '../client/index.ts'
import { slotOf } from '../keys.ts'
import { Batch } from './batch.ts'
import type { WaitingRequest } from './message.ts'
import type { ScriptRequest } from './script-request.ts'
import type { ScriptResponse } from './script-response.ts'
import { type BatcherOptions, UnderWay } from './under-way.ts'

/** For how many timeouts, at most, a call waits to be sent, while Redis answers other calls in time. */
const mostTurns = 10

/** A batch of fewer requests is not divided. */
const many = 8

/** If the last batch had at most this many requests, the next one does not wait for all calls of the turn. */
const some = 16

/** How often the batcher looks for a connection while it has none, in milliseconds. */
const reconnectPoll = 2

/** Collects requests into batches, sends them to Redis, and settles each request within the timeout. */
export class Batcher {
  readonly #options: BatcherOptions
  readonly connection: Connection
  readonly #deadlines: Deadlines
  /** The batches that still grow, by limiter and slot, so that requests of one limiter keep their order. */
  #open = new Map<string, Batch>()
  /** Batches that are ready to be sent, in their order. Without a connection they wait. */
  #ready: Batch[] = []
  readonly #underWay: UnderWay
  #flushing = false
  #polling = false

  constructor(options: BatcherOptions) {
    this.#options = options
    this.connection = options.connection
    this.#deadlines = new Deadlines('Redis', options.timeout)
    this.#underWay = new UnderWay(options)
  }

  /** Requests of one limiter and one turn of the event loop travel together. Resolves with the result of `read`. */
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
    const slot = this.connection.cluster ? slotOf(keys[0] as string) : 0
    const name = slot === 0 ? plan.limiter : `${slot} ${plan.limiter}`
    let batch = this.#open.get(name)
    if (batch === undefined) {
      batch = this.#begin(name, slot, [])
      this.#open.set(name, batch)
    }
    return batch
  }

  /** Stops a batch from growing. */
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

  /** The size at which a batch is full. It grows with the batches that wait, so that a burst does not wait for itself. */
  get #fullSize(): number {
    const { size, most } = this.#options
    const waiting = this.#ready.length
    return waiting === 0 ? size : Math.min(most, size * 2 ** waiting)
  }

  /** Applies one deadline to several requests that follow each other. */
  within<T>(answer: Promise<T>, late?: (answer: T) => void): Promise<T> {
    return this.#deadlines.bound(answer, late)
  }

  /** Applies the deadline to a question that is no request, such as a scan. */
  reading<T>(answer: Promise<T>): Promise<T> {
    return this.#deadlines.reading(answer)
  }

  #begin(name: string, slot: number, calls: WaitingRequest[]): Batch {
    this.connection.checkListener()
    const batch = new Batch(this, name, slot, calls)
    batch.answersBefore = this.#underWay.answers
    this.#deadlines.add(batch)
    return batch
  }

  #flushLater(): void {
    if (this.#flushing) return
    this.#flushing = true
    const { requests, lastSize, isNear } = this.#underWay
    // With few calls at once, there are few to collect.
    if (lastSize <= some && (requests === 0 || isNear)) queueMicrotask(this.#flush)
    else setImmediate(this.#flush)
  }

  unanswered(batch: Batch): void {
    this.#underWay.unanswered(batch)
  }

  /** True if a batch that was not sent may wait on: other batches were answered since it began to wait. */
  postpone(batch: Batch): boolean {
    const { connection, timeout } = this.#options
    if (!connection.ready() || this.#underWay.answers === batch.answersBefore || ++batch.turns > mostTurns) return false
    if (timeout === Infinity) return false
    batch.answersBefore = this.#underWay.answers
    this.#deadlines.add(batch)
    return true
  }

  readonly #flush = (): void => {
    this.#flushing = false
    const { size, isNear, isBusy } = this.#underWay
    if (isBusy) return
    // If Redis decides one batch while another is on its way, a third would only wait there for both. So it grows here instead.
    // That delays a call by the way to Redis at most, so the way has to be short.
    if (size < 2 || !isNear) this.#shutAll()
    this.#sendReady()
  }

  /**
   * Sends one full batch in each turn of the event loop to a single server. The server decides one batch while the client writes
   * the next, even if the client puts all commands of a turn into one write.
   */
  #sendReady(): void {
    const { connection, size } = this.#options
    if (!connection.ready()) {
      this.#awaitConnection()
      return
    }
    if (this.#underWay.isBusy) return
    const together = connection.cluster || size === 1
    let left = together ? Infinity : 1
    const heldBack: Batch[] = []
    while (left > 0 && this.#ready.length > 0) {
      const batch = this.#ready.shift() as Batch
      if (batch.settled) continue
      if (this.#underWay.isHeldBack(batch)) {
        heldBack.push(batch)
        continue
      }
      left--
      const half = this.#halfOf(batch)
      // The deadline of a batch that waited behind answered batches begins now.
      if (batch.turns > 0 || this.#underWay.answers !== batch.answersBefore) this.#deadlines.restart(batch)
      this.#underWay.send(batch)
      if (half !== undefined) this.#ready.push(half)
    }
    if (this.#ready.length > 0) this.#flushLater()
    this.#ready.unshift(...heldBack)
  }

  /**
   * The later half of a batch that is sent right after an answer, if nothing else is under way: Redis decides one half while
   * this process handles the answers of the other half.
   */
  #halfOf({ name, slot, calls }: Batch): Batch | undefined {
    const { size, isNear, isContinuous } = this.#underWay
    if (calls.length < many || size + this.#ready.length > 0 || !isNear || !isContinuous) return undefined
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

  /** Called by a batch that is settled. */
  settled(batch: Batch, size: number, error?: unknown): void {
    this.#deadlines.remove(batch)
    if (!batch.sent) {
      this.#shut(batch)
      return
    }
    this.#underWay.remove(batch, size, error)
    if (this.#ready.length > 0 || this.#open.size > 0) this.#flushLater()
  }
}
