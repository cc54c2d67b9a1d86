import { setImmediate, setTimeout } from 'node:timers'
import { Deadlines } from '../../contract/index.ts'
import type { Connection } from '../client/index.ts'
import { slotOf } from '../keys.ts'
import { Batch } from './batch.ts'
import type { WaitingRequest } from './message.ts'
import type { ScriptRequest } from './script-request.ts'
import type { ScriptResponse } from './script-response.ts'
import { type BatcherOptions, UnderWay } from './under-way.ts'

/** While Redis answers other calls within the timeout, a call may wait to be sent for at most this many times the timeout. */
const mostTurns = 10

/** The fewest requests that a batch must have to be divided into two batches. */
const many = 8

/** If the last batch that was sent had at most this many requests, the next batch is sent before the event loop's turn ends. */
const some = 16

/** While there is no connection, the batcher checks the connection again after this number of milliseconds. */
const reconnectPoll = 2

/** Collects requests into batches, sends the batches to Redis, and resolves or rejects each request within the timeout. */
export class Batcher {
  readonly #options: BatcherOptions
  readonly connection: Connection
  readonly #deadlines: Deadlines
  /**
   * The batches to which requests are still added: one for each limiter and each slot of a Cluster, so that the requests of a
   * limiter stay in order.
   */
  #open = new Map<string, Batch>()
  /** The batches to be sent, the oldest first. The batches wait while there is no connection. */
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

  /**
   * Sends a request, in one batch with other requests of this limiter and this turn of the event loop. Resolves with the result of
   * `read`.
   */
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

  /** Makes sure that no more requests are added to a batch. */
  #shut(batch: Batch): void {
    if (this.#open.get(batch.name) === batch) this.#open.delete(batch.name)
  }

  #shutAll(): void {
    if (this.#open.size === 0) return
    this.#ready.push(...this.#open.values())
    // `clear()` is not used: if the table of a cleared Map is in V8's old generation, V8 keeps the batches that are added to this
    // Map later in memory until the next full garbage collection.
    this.#open = new Map()
  }

  /** How many requests fill a batch: more while other batches wait, so that a burst of calls becomes few batches. */
  get #fullSize(): number {
    const { size, most } = this.#options
    const waiting = this.#ready.length
    return waiting === 0 ? size : Math.min(most, size * 2 ** waiting)
  }

  /**
   * Makes a promise that depends on several requests reject when the timeout has passed since the call of `within`.
   * @param late called with a result after the deadline
   */
  within<T>(answer: Promise<T>, late?: (answer: T) => void): Promise<T> {
    return this.#deadlines.bound(answer, late)
  }

  /** Makes the promise of a command that is not sent in a batch, such as SCAN, reject after the timeout. */
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
    // While Redis has few undecided calls, a batch need not wait for the end of the turn to collect more calls.
    if (lastSize <= some && (requests === 0 || isNear)) queueMicrotask(this.#flush)
    else setImmediate(this.#flush)
  }

  unanswered(batch: Batch): void {
    this.#underWay.unanswered(batch)
  }

  /**
   * Called when the timeout of a batch that was not sent has passed. Returns true if the batch may wait for one more timeout,
   * because Redis has answered other batches since the batch began to wait.
   */
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
    // While Redis decides one batch, a second batch waits there. A third batch would also only wait. So while two batches are under way,
    // the next batch stays in this process and collects more calls. This delays a call by at most a one-way trip to Redis. If the round
    // trip is not short (`isNear`), batches do not wait.
    if (size < 2 || !isNear) this.#shutAll()
    this.#sendReady()
  }

  /**
   * Sends the batches that are ready. A single server gets only one full batch in each turn of the event loop, because clients may write
   * all commands of a turn together. With one batch in a turn, the server decides one batch while the client writes the next batch.
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
      // If Redis answered other batches while this batch waited, the timeout of this batch starts again now.
      if (batch.turns > 0 || this.#underWay.answers !== batch.answersBefore) this.#deadlines.restart(batch)
      this.#underWay.send(batch)
      if (half !== undefined) this.#ready.push(half)
    }
    if (this.#ready.length > 0) this.#flushLater()
    this.#ready.unshift(...heldBack)
  }

  /**
   * If no other batch is under way and an answer of Redis has just come, divides the batch and returns its second half. Redis then decides
   * one half while this process handles the answers of the other half. Otherwise returns undefined.
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

  /** Called by a batch when every call of the batch has its response or an error. */
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
