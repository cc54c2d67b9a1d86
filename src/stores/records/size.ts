/*
 * Stores that hold so many bytes under a key and no more: what cannot fit is refused when a limiter is made, what does
 * not fit after all when it is written. Neither is a failure of the store, which answers as ever.
 */
import type { Policy } from '../../algorithms/algorithm.ts'
import { SlidingLog } from '../../algorithms/sliding-log.ts'
import { HeadgateError, shown } from '../../errors.ts'
import type { LedgerTerms } from '../store.ts'

export interface SizeLimit {
  /** What errors call the store. */
  readonly store: string
  /** The most that a record may have; all of it is ASCII. */
  readonly bytes: number
}

/** A whole number below 2^53 and a comma, a fraction of Guava's and a comma. */
const whole = 17
const fraction = 25

/** @throws HeadgateError `HEADGATE_STATE_SIZE` for policies whose record could grow beyond that */
export function checkSizes(limit: SizeLimit, { policies, scopes }: LedgerTerms): void {
  for (const scope of scopes) {
    const sizes = policies
      .filter((policy) => policy.scope === scope)
      .map((policy) => ({ policy, size: sizeOf(policy) }))
    const sum = sizes.reduce((total, { size }) => total + size, '[1]'.length)
    if (sum <= limit.bytes) continue
    const [largest] = sizes.sort((a, b) => b.size - a.size)
    if (largest !== undefined) throw cannotHold(limit, largest.policy, largest.size, sum)
  }
}

function cannotHold({ store, bytes }: SizeLimit, policy: Policy, size: number, sum: number): HeadgateError {
  let fits = policy.limit
  while (fits > 0 && sum - size + sizeOf(policy, fits) > bytes) fits = Math.floor(fits * 0.99)
  const smaller = fits > 0 && policy.algorithm instanceof SlidingLog ? `a limit of at most ${fits}, ` : ''
  return new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `Policy ${shown(policy.name)} takes up to ${size} bytes a key. ${store} holds ${bytes}, for all policies of it. ` +
      `Choose ${smaller}a segmentedWindow or another store; or give this one a larger maxBytes, if it has the room.`,
  )
}

/**
 * The most bytes that a policy takes in a record, debts apart. A log has entries of two numbers, one for each unit of its
 * limit at most, and half as many again that have left and are yet to go, or 16 (see sliding-log.ts).
 */
function sizeOf({ name, limit, algorithm }: Policy, logged: number = limit): number {
  const { kind, span, parameters, slots } = algorithm
  const frame = JSON.stringify([name, [kind, span, ...parameters], 0, []]).length + 1 + whole
  if (!(algorithm instanceof SlidingLog)) return frame + slots * fraction
  const entries = Math.ceil(1.5 * logged) + 16
  return frame + slots * whole + entries * (whole + `${entries},`.length)
}

/** @throws HeadgateError `HEADGATE_STATE_SIZE` for a record that is larger */
export function checkSize({ store, bytes }: SizeLimit, text: string): void {
  if (text.length <= bytes) return
  const [, ...entries] = JSON.parse(text) as [number, ...[name: string, ...unknown[]][]]
  const sizes = entries.map((entry) => ({ name: entry[0], size: JSON.stringify(entry).length }))
  const [largest] = sizes.sort((a, b) => b.size - a.size)
  throw new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `A key would take ${text.length} bytes, most of them by policy ${shown(largest?.name)}; the call changed nothing. ` +
      `${store} holds ${bytes}. Choose a smaller limit, a segmentedWindow or another store.`,
  )
}
