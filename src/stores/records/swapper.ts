/*
 * Carries out jobs on a store that reads and swaps one key at a time.
 *
 * What others wrote meanwhile makes a swap fail; then all is read again and the steps are made again. Several keys are
 * swapped in the order of their names. If one of them fails, those before it are put back as they were; where others
 * have written to them since, what the job took is given back by its tickets. So never more is admitted than any
 * policy says. What is not promised: between two swaps the units are taken, so that another call may be refused that
 * would have found them; and if this process dies in between, they stay taken until time gives them back.
 */
import { type Clock, checkClock } from '../../clock.ts'
import { HeadgateError, shown } from '../../errors.ts'
import type { MaybePromise } from '../../maybe-promise.ts'
import { type Job, nothing, type Write } from './job.ts'
import { checkSize, type SizeLimit } from './size.ts'

/** In milliseconds. */
function sleep(pause: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, pause))
}

/** What a store has under a key. */
export interface Found<Version> {
  /** The text as it was given to `swap`. */
  readonly text: string
  /** Whatever tells this text from what may come after it: a revision, an ETag, the text itself. */
  readonly version: Version
  /** The store's own time in whole microseconds since the epoch, if it tells it. Default: this process's clock. */
  readonly now?: number
}

/** What a store has to be able to do. */
export interface Swaps<Version> {
  /** What the store has under this key; undefined for nothing. */
  read: (key: string) => MaybePromise<Found<Version> | undefined>
  /**
   * Puts the text under the key if it still has that version (undefined: if it has nothing), for `ttl` milliseconds at
   * least, and tells whether it did. This has to be one atomic step of the store.
   */
  swap: (key: string, text: string, version: Version | undefined, ttl: number) => MaybePromise<boolean>
}

export interface SwapperTerms<Version> extends Swaps<Version> {
  readonly retries: number
  /** In milliseconds. */
  readonly ttlMargin: number
  /** This process's time. */
  readonly clock: Clock
  /** Whether a time that the store tells comes before it. */
  readonly trusting: boolean
  readonly size: SizeLimit
}

/** Before the n-th retry it waits up to 2^n ms, at most these. */
const longestPause = 16

export class Swapper<Version> {
  readonly #terms: SwapperTerms<Version>

  constructor(terms: SwapperTerms<Version>) {
    this.#terms = terms
  }

  async execute(job: Job): Promise<void> {
    try {
      await this.#execute(job)
    } catch (cause) {
      job.fail(this.#errorOf(cause))
    }
  }

  async #execute(job: Job): Promise<void> {
    for (let retry = 0; retry <= this.#terms.retries; retry++) {
      if (retry > 0) await sleep(Math.random() * Math.min(2 ** retry, longestPause))
      if (job.over) return
      const found = await Promise.all(job.keys.map((key) => this.#read(key)))
      const writes = job.run(
        found.map((each) => each?.text),
        this.#told(found),
      )
      for (const { text } of writes) checkSize(this.#terms.size, text)
      if (await this.#swapAll(job, writes, found)) {
        job.answer()
        return
      }
    }
    throw new HeadgateError(
      'HEADGATE_STORE',
      `${this.#terms.size.store} was changed by others each of ${this.#terms.retries + 1} times. ` +
        'Allow more retries and a longer timeout, or keep hot keys in Redis or Postgres.',
    )
  }

  async #read(key: string): Promise<Found<Version> | undefined> {
    const found = await this.#terms.read(key)
    if (found === undefined || found === null) return undefined
    if (typeof found.text !== 'string') {
      throw new TypeError(`read must give undefined or { text, version }, got a text that is ${shown(found.text)}`)
    }
    const { now } = found
    if (now !== undefined) checkClock(() => now)
    return found
  }

  #told(found: readonly (Found<Version> | undefined)[]): number | undefined {
    const told = this.#terms.trusting ? found.flatMap((each) => each?.now ?? []) : []
    return told.length === 0 ? undefined : Math.max(...told)
  }

  /** All of them, or none. */
  async #swapAll(job: Job, writes: readonly Write[], found: readonly (Found<Version> | undefined)[]): Promise<boolean> {
    const done: Write[] = []
    const keyOf = ({ index }: Write) => job.keys[index] as string
    try {
      for (const write of [...writes].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
        if (!(await this.#swap(keyOf(write), write, found[write.index]?.version))) break
        done.push(write)
      }
    } finally {
      if (done.length < writes.length) await Promise.all(done.map((write) => this.#putBack(job, write)))
    }
    return done.length === writes.length
  }

  async #swap(key: string, { text, life }: Pick<Write, 'text' | 'life'>, version?: Version): Promise<boolean> {
    const ttl = Math.max(1, Math.ceil(life / 1000) + this.#terms.ttlMargin)
    const done: unknown = await this.#terms.swap(key, text, version, ttl)
    if (typeof done === 'boolean') return done
    throw new TypeError(`swap must give true or false, got ${shown(done)}`)
  }

  /** Whoever asked may have given up by now; this has to be done all the same. */
  async #putBack(job: Job, write: Write): Promise<void> {
    const key = job.keys[write.index] as string
    for (let retry = 0; retry <= this.#terms.retries; retry++) {
      if (retry > 0) await sleep(Math.random() * Math.min(2 ** retry, longestPause))
      const found = await this.#read(key)
      if (found === undefined) return
      const now = this.#told([found]) ?? this.#terms.clock()
      const untouched = found.text === write.text
      const before = write.before === undefined ? nothing : { text: write.before, life: write.life }
      const saved = untouched ? before : job.withdrawn(write.index, found.text, now)
      if (await this.#swap(key, saved, found.version)) return
    }
  }

  #errorOf(cause: unknown): HeadgateError {
    if (cause instanceof HeadgateError) return cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new HeadgateError('HEADGATE_STORE', `${this.#terms.size.store} failed: ${reason}`, { cause })
  }
}
