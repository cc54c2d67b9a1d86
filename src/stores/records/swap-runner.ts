/*
 * Runs jobs (groups of calls on the same keys) on a store that reads and swaps (replaces) one key at a time.
 *
 * A swap fails if another process has written the key since the read. After that, the job reads and evaluates again. Several keys are
 * swapped in the order of their names. If one swap fails, the keys that were swapped before get their old texts back. If another process
 * has written such a key meanwhile, the key's new text stays, and the job takes its own units out of that text.
 *
 * So no policy admits too much. Two guarantees are weaker than with one atomic step. Between two swaps the units are
 * taken, so another call may be refused too early. If this process dies between two swaps, the units stay taken until
 * the window ends.
 */
import { type Clock, checkClock, HeadgateError, type MaybePromise, shown, storeError } from '../../common/index.ts'
import { exchanged, exchangeStart } from '../contract/index.ts'
import { emptyText, type Job, type Write } from './job.ts'
import type { SavedText } from './key-record.ts'
import type { ReadTexts } from './record-context.ts'
import { checkRecordSize, type SizeLimit } from './size-limit.ts'

/** The text that a store has for a key, and the version of the text. */
export interface VersionedText<Version> {
  /** The last text that `swap` saved for the key. */
  readonly text: string
  /** A value that distinguishes this text from any later text of the key: a revision, an ETag, or the text itself. */
  readonly version: Version
  /** The time by the store's clock, in whole microseconds since the epoch. Default: the time of this process. */
  readonly now?: number
}

/** The two functions of a store. If a function rejects, the store counts as failed. */
export interface ReadAndSwap<Version> {
  /** Returns the text of this key and its version; undefined if the key has no text. */
  read: (key: string) => MaybePromise<VersionedText<Version> | undefined>
  /**
   * Saves the text for at least `ttl` milliseconds, if the key still has this version; an undefined version means that the key has
   * no text. Returns true if the text was saved. The function has to be atomic in the store.
   */
  swap: (key: string, text: string, version: Version | undefined, ttl: number) => MaybePromise<boolean>
}

export interface SwapRunnerOptions<Version> extends ReadAndSwap<Version> {
  readonly retries: number
  /** For how many milliseconds a text stays in the store after its states are no longer needed. */
  readonly ttlMargin: number
  /** The clock of this process. */
  readonly clock: Clock
  /** True to use the store's time instead of the clock, if the store reports its time. */
  readonly usesStoreTime: boolean
  readonly size: SizeLimit
  /** The kind of the store, for events. */
  readonly kind: string
}

/** The longest pause in milliseconds. Before the n-th retry there is a random pause of up to 2^n ms, within this limit. */
const longestPause = 16

/**
 * The most attempts to undo a write. There are more attempts than for a call. A call that is given up loses only its result, but an undo
 * that is given up loses units until the window ends.
 */
const undoAttempts = 1000

export class SwapRunner<Version> {
  readonly #options: SwapRunnerOptions<Version>

  constructor(options: SwapRunnerOptions<Version>) {
    this.#options = options
  }

  /** Reads the texts that the store has for these keys, for an inspection. */
  async read(keys: readonly string[]): Promise<ReadTexts> {
    try {
      const found = await Promise.all(keys.map((key) => this.#read(key)))
      return { texts: found.map((each) => each?.text), now: this.#storeTime(found) ?? this.#options.clock() }
    } catch (cause) {
      throw storeError(this.#options.size.store, cause)
    }
  }

  async run(job: Job): Promise<void> {
    const { kind, size } = this.#options
    const startedAt = exchangeStart()
    let failure: HeadgateError | undefined
    try {
      await this.#run(job)
    } catch (cause) {
      failure = storeError(size.store, cause)
      job.reject(failure)
    }
    exchanged(kind, startedAt, job.size, failure)
  }

  async #run(job: Job): Promise<void> {
    const { retries, size } = this.#options
    for (let retry = 0; retry <= retries; retry++) {
      if (retry > 0) await pauseBefore(retry)
      if (job.settled) return
      const found = await Promise.all(job.keys.map((key) => this.#read(key)))
      const texts = found.map((each) => each?.text)
      const writes = job.run(texts, this.#storeTime(found))
      for (const { text } of writes) checkRecordSize(size, text)
      if (writes.length > 0) job.writes()
      if (await this.#swapAll(job, writes, found)) {
        job.resolve()
        return
      }
      job.writes(writes.length > 1) // if another process has changed the only record first, this job has changed nothing
    }
    throw new HeadgateError(
      'HEADGATE_STORE',
      `${size.store} was changed by others during each of ${retries + 1} attempts. ` +
        'Allow more retries and a longer timeout, or keep hot keys in Redis or Postgres.',
    )
  }

  async #read(key: string): Promise<VersionedText<Version> | undefined> {
    const found = await this.#options.read(key)
    if (found === undefined || found === null) return undefined
    if (typeof found.text !== 'string') {
      throw new TypeError(`read must return undefined or { text, version }, got a text that is ${shown(found.text)}`)
    }
    const { now } = found
    if (now !== undefined) checkClock(() => now)
    return found
  }

  #storeTime(found: readonly (VersionedText<Version> | undefined)[]): number | undefined {
    const times = this.#options.usesStoreTime ? found.flatMap((each) => each?.now ?? []) : []
    return times.length === 0 ? undefined : Math.max(...times)
  }

  /** Replaces the texts of all keys of the job (group of calls on these keys), or replaces no text. */
  async #swapAll(
    job: Job,
    writes: readonly Write[],
    found: readonly (VersionedText<Version> | undefined)[],
  ): Promise<boolean> {
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

  async #swap(key: string, { text, life }: SavedText, version?: Version): Promise<boolean> {
    const ttl = Math.max(1, Math.ceil(life / 1000) + this.#options.ttlMargin)
    const done: unknown = await this.#options.swap(key, text, version, ttl)
    if (typeof done === 'boolean') return done
    throw new TypeError(`swap must return true or false, got ${shown(done)}`)
  }

  /** Undoes a write, even if the calls of the job (group of calls on the same keys) have timed out meanwhile. */
  async #putBack(job: Job, write: Write): Promise<void> {
    const key = job.keys[write.index] as string
    for (let retry = 0; retry < undoAttempts; retry++) {
      if (retry > 0) await pauseBefore(retry)
      const found = await this.#read(key)
      if (found === undefined) return
      const now = this.#storeTime([found]) ?? this.#options.clock()
      const untouched = found.text === write.text
      const before = write.before === undefined ? emptyText : { text: write.before, life: write.life }
      const saved = untouched ? before : job.withdraw(write.index, found.text, now)
      if (!(await this.#swap(key, saved, found.version))) continue
      if (!untouched) job.tell(write.index)
      return
    }
  }
}

async function pauseBefore(retry: number): Promise<void> {
  const pause = Math.random() * Math.min(2 ** retry, longestPause)
  await new Promise((wake) => setTimeout(wake, pause))
}
