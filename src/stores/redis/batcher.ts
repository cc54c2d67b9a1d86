import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers'
import { Deadlines } from '../deadlines.ts'
import { Batch } from './batch.ts'
import type { Connection } from './client.ts'
import { slotOf } from './keys.ts'
import type { ScriptRequest } from './script-request.ts'

export interface BatcherOptions {
  readonly connection: Connection
  readonly script: string
  /** How long a request may take, in milliseconds. */
  readonly timeout: number
  /** In milliseconds. */
  readonly ttlMargin: number
  /** The most requests in a batch; with 1, each is sent at once. */
  readonly size: number
}

/** How often the batcher looks for a connection while it has none, in milliseconds. */
const reconnectPoll = 2

/** Collects requests into batches, sends them to Redis, and settles each request within the timeout. */
export class Batcher {
  readonly options: BatcherOptions
  readonly problem: () => unknown
  readonly #deadlines: Deadlines
  readonly #sha: string
  /** The batches that still grow, by the slot of their keys; without Redis Cluster there is one, in slot 0. */
  #open = new Map<number, Batch>()
  /** Batches that are ready to be sent, in their order. They wait if there is no connection. */
  #ready: Batch[] = []
  readonly #sent: Batch[] = []
  #flushing = false
  #polling = false

  constructor(options: BatcherOptions) {
    this.options = options
    this.problem = () => (options.connection.ready() ? undefined : options.connection.problem())
    this.#deadlines = new Deadlines('Redis', options.timeout)
    this.#sha = createHash('sha1').update(options.script).digest('hex')
    options.connection.onLost(() => {
      for (const batch of this.#sent) batch.withdraw()
    })
  }

  /** Requests of one turn of the event loop travel together. */
  send(request: ScriptRequest): void {
    const { connection, size } = this.options
    const slot = connection.cluster ? slotOf(request.keys[0] as string) : 0
    const batch = this.#open.get(slot) ?? this.#begin(slot)
    batch.add(request)
    if (batch.size < size) {
      this.#flushLater()
      return
    }
    this.#open.delete(slot)
    this.#ready.push(batch)
    if (size === 1) this.#sendReady()
  }

  /** Keeps one deadline over several requests that follow each other. */
  within<T>(answer: Promise<T>, late?: (answer: T) => void): Promise<T> {
    return this.#deadlines.bound(answer, late)
  }

  #begin(slot: number): Batch {
    const batch = new Batch(this)
    this.#deadlines.add(batch)
    this.#open.set(slot, batch)
    return batch
  }

  #flushLater(): void {
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#flushing = false
    this.#ready.push(...this.#open.values())
    // A new Map: one that is cleared or grows replaces its table, and the old table, once in V8's old generation, would
    // keep the new one and all it refers to alive until the next full collection.
    this.#open = new Map()
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
    const batches = this.#ready.splice(0, connection.cluster || size === 1 ? Infinity : 1)
    connection.checkListener()
    for (const batch of batches) if (!batch.settled) void this.#run(batch)
    if (this.#ready.length > 0) this.#flushLater()
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
    const args = batch.args()
    batch.sent = true
    this.#sent.push(batch)
    try {
      batch.receive(await this.#evaluate(batch.keys, args))
    } catch (error) {
      batch.fail(this.#causeOf(error))
    }
  }

  /** ioredis says no more than that its connection is closed. */
  #causeOf(error: unknown): unknown {
    if (!(error instanceof Error && error.message.startsWith('Connection is closed'))) return error
    return this.options.connection.problem() ?? error
  }

  /** Called by a batch that is settled. */
  settled(batch: Batch): void {
    this.#deadlines.remove(batch)
    const at = this.#sent.indexOf(batch)
    if (at < 0) return
    const last = this.#sent.pop() as Batch
    if (last !== batch) this.#sent[at] = last
  }

  /** Retries only if Redis does not have the script, which then certainly did not run. */
  async #evaluate(keys: string[], args: Buffer[]): Promise<unknown> {
    const { connection, script } = this.options
    try {
      return await connection.evalSha(this.#sha, keys, args)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return connection.eval(script, keys, args)
    }
  }
}
