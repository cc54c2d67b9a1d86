import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers'
import { HeadgateError } from '../../errors.ts'
import { Call } from './call.ts'
import type { Connection } from './client.ts'
import { slotOf } from './keys.ts'
import type { Question } from './question.ts'

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
export class Caller {
  readonly #terms: CallerTerms
  readonly #sha: string
  /** Calls that still take questions, by the slot of their keys; all by one number where slots do not matter. */
  readonly #open = new Map<number, Call>()
  /** Calls to be sent, in their order: there may be no connection. */
  #waiting: Call[] = []
  readonly #sent = new Set<Call>()
  #flushing = false
  #looking = false

  constructor(terms: CallerTerms) {
    this.#terms = terms
    this.#sha = createHash('sha1').update(terms.script).digest('hex')
    terms.connection.onLost(() => {
      for (const call of this.#sent) call.withdraw()
    })
  }

  /** Questions asked in one turn of the event loop travel together. */
  ask(question: Question): void {
    const { connection, batch } = this.#terms
    const slot = connection.cluster ? slotOf(question.keys[0] as string) : 0
    let call = this.#open.get(slot)
    if (call === undefined) {
      call = new Call(this.#terms.ttlMargin)
      this.#open.set(slot, call)
      this.#expire(call)
    }
    call.add(question)
    if (batch === 1) this.#flush()
    else if (call.size >= batch) this.#close(slot, call)
    else if (!this.#flushing) {
      this.#flushing = true
      setImmediate(() => this.#flush())
    }
  }

  #flush(): void {
    this.#flushing = false
    for (const [slot, call] of this.#open) this.#close(slot, call)
  }

  #close(slot: number, call: Call): void {
    this.#open.delete(slot)
    this.#waiting.push(call)
    this.#send()
  }

  #send(): void {
    if (!this.#terms.connection.ready()) {
      this.#waiting = this.#waiting.filter((call) => !call.settled)
      if (!this.#looking && this.#waiting.length > 0) {
        this.#looking = true
        setTimeout(() => {
          this.#looking = false
          this.#send()
        }, look)
      }
      return
    }
    const calls = this.#waiting
    this.#waiting = []
    for (const call of calls) if (!call.settled) void this.#run(call)
  }

  async #run(call: Call): Promise<void> {
    const packed = call.packed()
    this.#sent.add(call)
    try {
      call.answer(await this.#evaluate(call.keys, packed))
    } catch (error) {
      call.fail(error)
    }
    this.#sent.delete(call)
  }

  /** Only a script that Redis does not know has certainly not run: everything else is never tried again. */
  async #evaluate(keys: string[], packed: Buffer[]): Promise<unknown> {
    const { connection, script } = this.#terms
    try {
      return await connection.evalSha(this.#sha, keys, packed)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return connection.eval(script, keys, packed)
    }
  }

  /** The deadline, whatever the client does. An answer that has come while this process was busy still counts. */
  #expire(call: Call): void {
    const { timeout } = this.#terms
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (call.settled) return
        call.withdraw()
        this.#sent.delete(call)
        call.fail(
          new HeadgateError(
            'HEADGATE_STORE_TIMEOUT',
            `Redis did not answer within ${timeout} ms. Whether the call counted is not known. ` +
              'Look at its connection, or give redisStore a longer timeout.',
          ),
        )
      })
    }, timeout)
    call.onSettled = () => clearTimeout(timer)
  }
}
