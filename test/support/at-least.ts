import { expect } from 'vitest'

/** `expect` for loops: it costs more than what most of them try, so it is called for a failure only. */
export function atLeast(actual: number, least: number, message?: string): void {
  if (!(actual >= least)) expect(actual, message).toBeGreaterThanOrEqual(least)
}
