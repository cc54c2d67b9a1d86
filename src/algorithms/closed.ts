/*
 * A limit of 0: no request is ever admitted. A plan without access, or a route that is switched off, is a policy like
 * any other then.
 *
 * It is an algorithm of its own, because nothing ever drains, fades or comes back: the others would divide by their limit.
 * There is nothing to remember, so the state stays all zeros. A charge is accepted and leaves no debt, since no unit would
 * ever pay it off.
 */
import type { Algorithm, Report } from './algorithm.ts'

export class Closed implements Algorithm {
  readonly kind = 'closed'
  readonly parameters: readonly number[] = []
  /** As many as a bucket has: the Redis script reads small states in one form. */
  readonly slots = 3
  readonly grows = false
  readonly promises = false
  readonly span = 0
  readonly tolerance = 0

  wait(_s: unknown, _i: number, _at: number, cost: number): number {
    return cost > 0 ? Infinity : 0
  }

  fits(): boolean {
    return true
  }

  take(): void {}

  count(): void {}

  refund(): void {}

  bookedAt(): number {
    return 0
  }

  settle(): void {}

  report(_s: unknown, _i: number, _at: number, out: Report): void {
    out.remaining = 0
    out.reset = 0
    out.used = 0
  }

  /** Whatever was used under other numbers, there is nothing to count here. */
  carry(): boolean {
    return false
  }

  merge(): void {}
}
