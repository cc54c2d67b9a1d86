import { attempt, chain, HeadgateError, isPromise, type MaybePromise, monotonicClock, shown } from '../common/index.ts'

/** The hits of a key in its present window. */
export interface Hits {
  /** How many hits the window has. */
  readonly used: number
  /** Milliseconds until the window ends. Default: the full length of the window. */
  readonly resetAfter?: number | undefined
}

/** The numbers of the policy, which `hit`, `unhit` and `read` get. */
export interface HitTerms {
  /** The length of a window, in milliseconds. */
  readonly window: number
  readonly limit: number
}

/** The options of `hitStore`. */
export interface HitStoreOptions {
  /**
   * Adds `cost` hits to the key, even if the sum exceeds the limit, and returns the hits of the key in its window. A key has at most 128
   * characters of ASCII, without blanks.
   */
  hit: (key: string, cost: number, terms: HitTerms) => MaybePromise<Hits>
  /**
   * Subtracts `cost` hits from the key. Allowed only together with `read`. Without `unhit`, refused calls count, and calls of `refund` and
   * settlements (corrections to the actual cost) reject.
   */
  unhit?: (key: string, cost: number, terms: HitTerms) => MaybePromise<unknown>
  /** Returns the hits of the key, or undefined if the key has none. Without `read`, `peek` rejects. */
  read?: (key: string, terms: HitTerms) => MaybePromise<Hits | undefined>
  /** Deletes the hits of the key. Without `forget`, `reset` rejects. */
  forget?: (key: string) => MaybePromise<unknown>
  /** Deletes the hits of all keys. Without `forgetAll`, `clear` rejects. */
  forgetAll?: () => MaybePromise<unknown>
  /** True if none of the functions returns a promise. Default false. */
  synchronous?: boolean
}

/** Calls the functions that the application gave, and checks what they return. */
export class HitCounter {
  readonly #functions: HitStoreOptions
  /** For each key, a promise for the calls of `unhit` under way. */
  readonly #unhits = new Map<string, Promise<unknown>>()

  constructor(functions: HitStoreOptions) {
    this.#functions = functions
  }

  has(name: keyof typeof lacking | 'forgetAll'): boolean {
    return this.#functions[name] !== undefined
  }

  hit(key: string, cost: number, terms: HitTerms): MaybePromise<Hits> {
    return chain(this.#functions.hit(key, cost, terms), (hits) => numbersOf('hit', hits))
  }

  /** Subtracts the hits of a refused call. Does not wait for `unhit`, because the call is refused, however `unhit` ends. */
  forgive(key: string, cost: number, terms: HitTerms): void {
    this.#follow(
      key,
      attempt(() => this.#functions.unhit?.(key, cost, terms)),
    )
  }

  /** Notes that hits of the key are being subtracted. What depends on them waits. */
  #follow(key: string, unhit: unknown): void {
    if (!isPromise(unhit)) return
    const all = Promise.allSettled([this.#unhits.get(key), unhit]).then(() => {
      if (this.#unhits.get(key) === all) this.#unhits.delete(key)
    })
    this.#unhits.set(key, all)
  }

  /**
   * Subtracts at most the hits that the key has, because some stores would count below 0. Hits of an earlier window are not subtracted: the
   * next window ends at least the length of a window later. One call after the other, because two calls would read the same hits.
   */
  giveBack(key: string, cost: number, terms: HitTerms, end = 0): MaybePromise<Hits> {
    const given = chain(this.#unhits.get(key), () => this.#giveBack(key, cost, terms, end))
    this.#follow(key, given)
    return given
  }

  #giveBack(key: string, cost: number, terms: HitTerms, end: number): MaybePromise<Hits> {
    const read = this.read(key, terms)
    return chain(read, (hits) => {
      const back = Math.min(cost, hits.used)
      const isOver = end > 0 && endOf(hits) - end > 500 * terms.window
      if (back === 0 || isOver || isEnding(hits, read, terms)) return hits
      return chain(this.#needed('unhit')(key, back, terms), () => ({ ...hits, used: hits.used - back }))
    })
  }

  read(key: string, terms: HitTerms): MaybePromise<Hits> {
    return chain(this.#needed('read')(key, terms), (hits) => numbersOf('read', hits ?? { used: 0, resetAfter: 0 }))
  }

  /** Waits for the calls of `unhit` under way, because they would subtract hits of the emptied key. */
  forget(key: string): MaybePromise<undefined> {
    const forgotten = chain(this.#unhits.get(key), () => this.#needed('forget')(key))
    return chain(forgotten, () => undefined)
  }

  /** Waits for the calls of `unhit` under way. */
  forgetAll(): MaybePromise<undefined> {
    const unhits = this.#unhits.size === 0 ? undefined : Promise.all(this.#unhits.values())
    return chain(
      chain(unhits, () => this.#functions.forgetAll?.()),
      () => undefined,
    )
  }

  /** Returns the function of this name from the options. @throws HeadgateError `HEADGATE_UNSUPPORTED` if the function is missing */
  #needed<Name extends keyof typeof lacking>(name: Name): NonNullable<HitStoreOptions[Name]> {
    const given = this.#functions[name]
    if (given !== undefined) return given
    const message = `This hit store has no ${name}, so ${lacking[name]}. Give hitStore the function ${name}.`
    throw new HeadgateError('HEADGATE_UNSUPPORTED', message)
  }
}

/** True if a call of `unhit` could be on its way when the window ends, so that it subtracts hits of the next window. */
export function isEnding({ resetAfter = Infinity }: Hits, answer: MaybePromise<Hits>, { window }: HitTerms): boolean {
  return isPromise(answer) && resetAfter < Math.min(1000, window / 2)
}

/** When the window of these hits ends, by the clock of this process, in microseconds. 0 if the store does not tell the end. */
export function endOf({ resetAfter }: Hits): number {
  return resetAfter === undefined ? 0 : monotonicClock() + resetAfter * 1000
}

/** Checks what the user's function returned. @throws HeadgateError `HEADGATE_STORE` if the function returned no numbers */
function numbersOf(name: 'hit' | 'read', hits: Hits): Hits {
  const { used, resetAfter } = hits ?? {}
  if (isNumber(used) && isNumber(resetAfter ?? 0)) return hits
  const got =
    typeof hits === 'object' && hits !== null
      ? `{ used: ${shown(used)}, resetAfter: ${shown(resetAfter)} }`
      : shown(hits)
  const fix = 'Return numbers, such as { used: 3, resetAfter: 1500 }.'
  throw new HeadgateError('HEADGATE_STORE', `hitStore: ${name} returned ${got}. ${fix}`)
}

const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value)

/** For each optional function: what is impossible if the function is missing, as a text for the error. */
const lacking = {
  unhit: 'no units can be given back',
  read: 'the hits of a key are not known',
  forget: 'a key cannot be reset',
}
