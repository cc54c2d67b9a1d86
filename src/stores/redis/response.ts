import type { Policy } from '../../algorithms/algorithm.ts'
import type { Details, Tickets } from '../../algorithms/evaluation.ts'
import { type Decision, join, type Verdict } from '../../decision.ts'

/** Whole microseconds, as the script tells them; a wait of -1 is never. */
export interface Numbers {
  readonly wait: number
  readonly remaining: number
  readonly reset: number
  /** How long until `remaining` grows; undefined if the question did not ask. */
  readonly next: number | undefined
}

/** What the script says to one question. */
export interface Response {
  /** When it was given, in microseconds since the epoch. */
  readonly now: number
  readonly allowed: boolean
  /** Of a refusal, whether the same call gets the same one until a unit comes back. */
  readonly lasts: boolean
  /** Of a reservation that was granted: how long it has to wait, in microseconds. */
  readonly delay: number
  /** One for each policy of the terms. */
  readonly numbers: readonly Numbers[]
  readonly tickets: Tickets | undefined
  /** Units taken besides, and how many microseconds all of them stay taken. */
  readonly lease: { readonly units: number; readonly life: number } | undefined
}

/**
 * The decision that an answer means.
 * @param elapsed microseconds since it was given, of an answer that is repeated: its times are shorter by so much
 */
export function decisionOf(policies: readonly Policy[], answer: Response, details?: Details, elapsed = 0): Decision {
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
