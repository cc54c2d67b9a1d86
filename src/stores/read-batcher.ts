/*
 * Reads all keys that calls need in one turn of the event loop by one command. If the command fails, each key is read by a separate
 * command, so that a value that the client cannot decode fails only the calls with its key.
 */
import { monotonicClock } from '../common/index.ts'

/** The functions that read one key, or several keys by one command. The results are in the order of the keys. */
export interface Reads<Found> {
  readonly one: (key: string) => Promise<Found>
  readonly several: (keys: readonly string[]) => Promise<readonly Found[]>
}

interface Question<Found> {
  readonly key: string
  readonly answer: Promise<Found>
  readonly resolve: (found: Found | Promise<Found>) => void
}

/** The most keys in one command. With keys of 250 bytes, the command has 25 kB. */
const maxKeys = 100

export class ReadBatcher<Found> {
  readonly #reads: Reads<Found>
  readonly #timeout: number
  /** The pending reads of this turn, by their key. */
  #questions = new Map<string, Question<Found>>()

  /** @param timeout the timeout of the callers, in milliseconds: a read that fails after this time is not repeated */
  constructor(reads: Reads<Found>, timeout: number) {
    this.#reads = reads
    this.#timeout = timeout
  }

  read(key: string): Promise<Found> {
    const asked = this.#questions.get(key)
    if (asked !== undefined) return asked.answer
    if (this.#questions.size === 0) queueMicrotask(() => this.#send())
    let resolve: Question<Found>['resolve'] = () => {}
    const answer = new Promise<Found>((settle) => {
      resolve = settle
    })
    this.#questions.set(key, { key, answer, resolve })
    if (this.#questions.size === maxKeys) this.#send()
    return answer
  }

  #send(): void {
    const questions = [...this.#questions.values()]
    this.#questions = new Map()
    if (questions.length > 1) void this.#readAll(questions)
    else for (const { key, resolve } of questions) resolve(this.#reads.one(key))
  }

  async #readAll(questions: readonly Question<Found>[]): Promise<void> {
    const { one, several } = this.#reads
    const sentAt = monotonicClock()
    try {
      const found = await several(questions.map(({ key }) => key))
      for (const [n, { resolve }] of questions.entries()) resolve(found[n] as Found)
    } catch (cause) {
      const late = monotonicClock() - sentAt > this.#timeout * 1000
      for (const { key, resolve } of questions) resolve(late ? Promise.reject(cause) : one(key))
    }
  }
}
