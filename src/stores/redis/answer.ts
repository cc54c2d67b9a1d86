import type { Policy } from '../../algorithms/algorithm.ts'
import type { Details, Tickets } from '../../algorithms/step.ts'
import { type Decision, join, type Verdict } from '../../decision.ts'
import type { Question } from './question.ts'

/** Whole microseconds, as the script tells them; a wait of -1 is never. */
export interface Numbers {
  readonly wait: number
  readonly remaining: number
  readonly reset: number
  /** How long until `remaining` grows; undefined if the question did not ask. */
  readonly next: number | undefined
}

/** What the script says to one question. */
export interface Answer {
  /** When it was given, in microseconds since the epoch. */
  readonly now: number
  readonly allowed: boolean
  /** Of a reservation that was granted: how long it has to wait, in microseconds. */
  readonly delay: number
  /** One for each policy of the terms. */
  readonly numbers: readonly Numbers[]
  readonly tickets: Tickets | undefined
  /** Units taken besides, and how many microseconds all of them stay taken. */
  readonly lease: { readonly units: number; readonly life: number } | undefined
}

/** Reads the flat reply of one call, question by question in their order. */
export class Answers {
  readonly #reply: readonly unknown[]
  #at = 0
  /** The time of Redis, if a question needed it. */
  readonly #now: number

  constructor(reply: readonly unknown[]) {
    this.#reply = reply
    this.#now = this.#next()
  }

  /** Numbers also where a client was told to hand integers on as text. */
  #next(): number {
    return Number(this.#reply[this.#at++])
  }

  read(question: Question): Answer {
    const { terms, verb } = question
    const { details, denial, lease } = question.extras
    const now = question.now < 0 ? this.#now : question.now
    const allowed = this.#next() === 1
    if (verb === 'reset') return { now, allowed, delay: 0, numbers: [], tickets: undefined, lease: undefined }
    const delay = verb === 'reserve' ? this.#next() : 0
    const told = details?.nextAfter === true || (denial === true && !allowed)
    const numbers: Numbers[] = []
    for (let n = terms.policies.length; n > 0; n--) {
      numbers.push({
        wait: this.#next(),
        remaining: this.#next(),
        reset: this.#next(),
        next: told ? this.#next() : undefined,
      })
    }
    const tickets = verb === 'reserve' && allowed ? this.#tickets(numbers.length) : undefined
    return { now, allowed, delay, numbers, tickets, lease: lease === undefined ? undefined : this.#lease() }
  }

  #tickets(count: number): Tickets {
    return Array.from({ length: count }, () => {
      return this.#next() === 1 ? ([this.#next(), this.#next(), this.#next()] as const) : undefined
    })
  }

  #lease(): Answer['lease'] {
    const units = this.#next()
    return units === 0 ? undefined : { units, life: this.#next() }
  }
}

/**
 * The decision that an answer means.
 * @param elapsed microseconds since it was given, of an answer that is repeated: its times are shorter by so much
 */
export function decisionOf(policies: readonly Policy[], answer: Answer, details?: Details, elapsed = 0): Decision {
  const { now, allowed, numbers } = answer
  const next = details?.nextAfter === true
  const verdicts =
    numbers.length === 1
      ? [verdictOf(policies[0] as Policy, numbers[0] as Numbers, next, elapsed)]
      : numbers.map((each, n) => verdictOf(policies[n] as Policy, each, next, elapsed))
  return join(allowed, verdicts, 'store', details?.at ? Math.floor((now + elapsed) / 1000) : undefined)
}

function verdictOf({ name, limit, shadow }: Policy, numbers: Numbers, next: boolean, elapsed: number): Verdict {
  const { wait, remaining } = numbers
  const allowed = wait === 0
  const retryAfter = wait < 0 ? Infinity : milliseconds(wait, elapsed)
  const resetAfter = milliseconds(numbers.reset, elapsed)
  if (!next) return { name, allowed, limit, remaining, retryAfter, resetAfter, shadow }
  const nextAfter = milliseconds(numbers.next as number, elapsed)
  return { name, allowed, limit, remaining, retryAfter, resetAfter, shadow, nextAfter }
}

function milliseconds(microseconds: number, elapsed: number): number {
  return microseconds <= elapsed ? 0 : Math.ceil((microseconds - elapsed) / 1000)
}
