import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers'
import { Deadlines } from '../deadlines.ts'
import { unanswered } from '../unanswered.ts'
import { Batch } from './batch.ts'
import type { Connection } from './client.ts'
import { slotOf } from './keys.ts'
import type { Request } from './request.ts'

export interface CallerTerms {
  readonly connection: Connection
  readonly script: string
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  readonly ttlMargin: number
  /** The most questions in one call; 1 sends each at once. */
  readonly batch: number
}

/** How often a call that waits for a connection looks for it, in milliseconds. */
const look = 2

/** Puts questions into calls, calls to Redis, and answers or errors to those who asked, within the timeout. */
export class Batcher {
  readonly terms: CallerTerms
  readonly #deadlines: Deadlines
  readonly #sha: string
  /** Calls that still take questions, by the slot of their keys; all by one number where slots do not matter. */
  #open = new Map<number, Batch>()
  /** Calls to be sent, in their order: there may be no connection. */
  #waiting: Batch[] = []
  readonly #sent: Batch[] = []
  #flushing = false
  #looking = false

  constructor(terms: CallerTerms) {
    this.terms = terms
    this.#deadlines = new Deadlines(terms.timeout)
    this.#sha = createHash('sha1').update(terms.script).digest('hex')
    terms.connection.onLost(() => {
      for (const call of this.#sent) call.withdraw()
    })
  }

  /** Questions asked in one turn of the event loop travel together. */
  ask(question: Request): void {
    const { connection, batch } = this.terms
    const slot = connection.cluster ? slotOf(question.keys[0] as string) : 0
    const call = this.#open.get(slot) ?? this.#begin(slot)
    call.add(question)
    if (call.size < batch) {
      this.#flushLater()
      return
    }
    this.#open.delete(slot)
    this.#waiting.push(call)
    if (batch === 1) this.#send()
  }

  /** Keeps one deadline over several requests that follow each other. */
  within<T>(answer: Promise<T>, late?: (answer: T) => void): Promise<T> {
    return this.#deadlines.bound(answer, () => unanswered('Redis', this.terms.timeout), late)
  }

  #begin(slot: number): Batch {
    const call = new Batch(this)
    this.#deadlines.add(call)
    this.#open.set(slot, call)
    return call
  }

  #flushLater(): void {
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#flushing = false
    this.#waiting.push(...this.#open.values())
    // A new one: a Map that is used up makes a new table, to which the old one points, so that one in the old generation
    // keeps alive whatever came after it.
    this.#open = new Map()
    this.#send()
  }

  /**
   * To one server calls go turn by turn: it decides one while the client writes the next, also where the client puts all
   * commands of a turn into one write.
   */
  #send(): void {
    const { connection, batch } = this.terms
    if (!connection.ready()) {
      this.#look()
      return
    }
    const calls = this.#waiting.splice(0, connection.cluster || batch === 1 ? Infinity : 1)
    for (const call of calls) if (!call.settled) void this.#run(call)
    if (this.#waiting.length > 0) this.#flushLater()
  }

  /** Whether there is a connection again. */
  #look(): void {
    this.#waiting = this.#waiting.filter((call) => !call.settled)
    if (this.#looking || this.#waiting.length === 0) return
    this.#looking = true
    setTimeout(() => {
      this.#looking = false
      this.#send()
    }, look)
  }

  async #run(call: Batch): Promise<void> {
    const packed = call.packed()
    this.#sent.push(call)
    try {
      call.answer(await this.#evaluate(call.keys, packed))
    } catch (error) {
      call.fail(error)
    }
  }

  /** It need not be looked after any more. */
  settled(call: Batch): void {
    this.#deadlines.remove(call)
    const at = this.#sent.indexOf(call)
    if (at < 0) return
    const last = this.#sent.pop() as Batch
    if (last !== call) this.#sent[at] = last
  }

  /** Only a script that Redis does not know has certainly not run: everything else is never tried again. */
  async #evaluate(keys: string[], packed: Buffer[]): Promise<unknown> {
    const { connection, script } = this.terms
    try {
      return await connection.evalSha(this.#sha, keys, packed)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return connection.eval(script, keys, packed)
    }
  }
}
