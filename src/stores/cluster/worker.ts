import { setImmediate } from 'node:timers'
import type { Details } from '../../algorithms/evaluation.ts'
import type { Decision } from '../../decision.ts'
import { HeadgateError } from '../../errors.ts'
import { Answers, type Pending } from '../records/pending.ts'
import type { Booking, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../store.ts'
import { areAnswers, packTerms, type Question, type Questions, unpackBooking } from './wire.ts'

type Asked = Pending<Booking | undefined>

/** The side that asks: what is asked in one turn of the event loop travels in one message. */
export class WorkerStore implements Store {
  readonly synchronous = false
  readonly timeout: number
  readonly #name: string
  readonly #answers: Answers
  readonly #asked = new Map<number, Asked>()
  #terms = new Map<string, number>()
  #questions: Questions['questions'][number][] = []
  #ids = 0

  /** @param timeout in milliseconds */
  constructor(name: string, timeout: number) {
    this.#name = name
    this.timeout = timeout
    const fix = 'Call clusterStore() in the primary, too, with the same name; or give a longer timeout.'
    this.#answers = new Answers('The primary', timeout, fix)
    process.on('message', this.#hear)
    process.on('disconnect', this.#lost)
  }

  open(terms: LedgerTerms): Ledger {
    return new WorkerLedger(this, packTerms(terms))
  }

  /** Fails what is asked, and lets the process end. */
  close(): void {
    process.removeListener('message', this.#hear)
    process.removeListener('disconnect', this.#lost)
    this.#lost()
  }

  ask(terms: string, question: Question): Promise<Booking | undefined> {
    return this.#answers.promise((pending) => {
      const id = this.#ids++
      this.#asked.set(id, pending)
      const index = this.#terms.get(terms) ?? this.#terms.size
      this.#terms.set(terms, index)
      if (this.#questions.push([id, index, question]) === 1) setImmediate(() => this.#send())
    })
  }

  #send(): void {
    const questions = this.#questions
    const message: Questions = { headgate: this.#name, terms: [...this.#terms.keys()], questions }
    this.#questions = []
    this.#terms = new Map()
    this.#forgetLate()
    const failed = (error: Error) =>
      this.#fail(
        questions.map(([id]) => id),
        error,
      )
    if (process.send === undefined || !process.connected) {
      failed(new Error('there is no connection to the primary'))
      return
    }
    process.send(message, undefined, undefined, (error) => {
      if (error) failed(error)
    })
  }

  readonly #hear = (message: unknown): void => {
    if (!areAnswers(message, this.#name)) return
    for (const [id, booking, failure] of message.answers) {
      const pending = this.#take(id)
      if (failure !== undefined) pending?.fail(new HeadgateError(failure.code, failure.message))
      else pending?.answer(booking === null ? undefined : unpackBooking(booking))
    }
  }

  readonly #lost = (): void => {
    this.#fail([...this.#asked.keys()], new Error('the connection to the primary is lost'))
  }

  #fail(ids: readonly number[], cause: Error): void {
    for (const id of ids) {
      this.#take(id)?.fail(new HeadgateError('HEADGATE_STORE', `The primary failed: ${cause.message}`, { cause }))
    }
  }

  #take(id: number): Asked | undefined {
    const pending = this.#asked.get(id)
    this.#asked.delete(id)
    return pending
  }

  /** The oldest that have been given up: their answers may never come. */
  #forgetLate(): void {
    for (const [id, pending] of this.#asked) {
      if (!pending.over) return
      this.#asked.delete(id)
    }
  }
}

class WorkerLedger implements Ledger {
  readonly #store: WorkerStore
  readonly #terms: string

  constructor(store: WorkerStore, terms: string) {
    this.#store = store
    this.#terms = terms
  }

  async decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Promise<Decision> {
    const { tickets } = extras ?? {}
    return (await this.#ask(verb, keys, cost, 0, { ...detailsOf(extras), ...(tickets && { tickets }) })).decision
  }

  async reserve(keys: readonly string[], cost: number, maxWait: number, details?: Details): Promise<Booking> {
    return this.#ask('reserve', keys, cost, maxWait, detailsOf(details))
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#ask('reset', keys, 1, 0, {})
  }

  async #ask(
    verb: Question['verb'],
    keys: readonly string[],
    cost: number,
    maxWait: number,
    extras: DecideExtras,
  ): Promise<Booking> {
    return (await this.#store.ask(this.#terms, { verb, keys, cost, maxWait, extras })) as Booking
  }
}

/** Only what the primary has to know. */
function detailsOf({ at, nextAfter }: Details = {}): Details {
  return { ...(at && { at }), ...(nextAfter && { nextAfter }) }
}
