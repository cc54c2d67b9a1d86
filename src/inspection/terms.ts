import type { Definition } from '../algorithms/revive.ts'

/** What a policy promises, as far as it follows from the definition of its algorithm. */
export interface Terms {
  readonly limit: number
  /** In milliseconds. */
  readonly window: number
  readonly burst: number
}

/** Windows in which people count, in microseconds. */
const usual = [1, 60, 900, 3600, 86_400].map((seconds) => seconds * 1_000_000)

/** The terms of a policy that is known by its definition only. A bucket knows its rate, not the window it was written in. */
export function termsOf({ kind, span, parameters }: Definition): Terms {
  const [first = 0, second = 0, third = 0] = parameters
  if (kind === 'bucket') return { ...rateOf(third, second), burst: first }
  if (kind === 'intervalBucket') return { limit: first, window: second / 1000, burst: third }
  if (kind === 'penalty') return { limit: first, window: second / 1000, burst: first }
  if (kind.startsWith('smooth')) return { limit: 1_000_000 / first, window: 1000, burst: 1 }
  return { limit: first, window: span / 1000, burst: first }
}

/** A rate of `drain / weight` units a microsecond, as whole units in the shortest of the usual windows. */
function rateOf(drain: number, weight: number): Omit<Terms, 'burst'> {
  const window = usual.find((each) => (each * drain) % weight === 0 && each * drain <= Number.MAX_SAFE_INTEGER)
  return window === undefined
    ? { limit: drain, window: weight / 1000 }
    : { limit: (window * drain) / weight, window: window / 1000 }
}
