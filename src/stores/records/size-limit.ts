/*
 * Limits the size of records (the text of all states of a key), for stores that limit the size of a value. A limiter whose records may
 * become too large is refused when it is made. If a record becomes too large nevertheless, saving the record fails. A breaker does not
 * count these refusals, because the store did not fail.
 */
import type { Policy } from '../../algorithms/index.ts'
import { HeadgateError, shown } from '../../common/index.ts'
import type { LedgerTerms } from '../contract/index.ts'

export interface SizeLimit {
  /** The name of the store in error messages. */
  readonly store: string
  /** The most bytes of a key's stored text. The text is ASCII, so a character is a byte. */
  readonly bytes: number
}

/** The most bytes of a number with its comma: of a whole number below 2^53, and of a number with a fraction. */
const wholeSize = 17
const fractionSize = 25

/** @throws HeadgateError `HEADGATE_STATE_SIZE` if the stored text of a key may become larger than the limit */
export function checkPolicySizes(limit: SizeLimit, { policies, scopes }: LedgerTerms): void {
  for (const scope of scopes) {
    const sizes = policies
      .filter((policy) => policy.scope === scope)
      .map((policy) => ({ policy, size: largestSizeOf(policy) }))
    const sum = sizes.reduce((total, { size }) => total + size, '[1]'.length)
    if (sum <= limit.bytes) continue
    const [largest] = sizes.sort((a, b) => b.size - a.size)
    if (largest !== undefined) throw policyTooLarge(limit, largest.policy, largest.size, sum)
  }
}

function policyTooLarge({ store, bytes }: SizeLimit, policy: Policy, size: number, sum: number): HeadgateError {
  let fits = policy.limit
  while (fits > 0 && sum - size + largestSizeOf(policy, fits) > bytes) fits = Math.floor(fits * 0.99)
  const smaller = fits > 0 && policy.algorithm.grows ? `a limit of at most ${fits}, ` : ''
  return new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `Policy ${shown(policy.name)} takes up to ${size} bytes a key. ${store} holds ${bytes} for all policies of a key. ` +
      `Choose ${smaller}a segmentedWindow or another store. Or set a larger maxBytes, if the server allows it.`,
  )
}

/** The most bytes that the state of a policy takes in the stored text. A state with debt (units above the limit) may take more bytes. */
function largestSizeOf({ name, limit, algorithm }: Policy, units: number = limit): number {
  const { kind, span, parameters, slots, bookingNumbers } = algorithm
  const head = JSON.stringify([name, [kind, span, ...parameters], 0, []]).length + 1 + wholeSize
  const entries = algorithm.mostEntries?.(units)
  if (entries === undefined) return head + slots * fractionSize + bookingNumbers * wholeSize
  return head + slots * wholeSize + entries * (wholeSize + `${entries},`.length)
}

/** @throws HeadgateError `HEADGATE_STATE_SIZE` if the text is larger than the limit */
export function checkRecordSize({ store, bytes }: SizeLimit, text: string): void {
  if (text.length <= bytes) return
  const [, ...entries] = JSON.parse(text) as [number, ...[name: string, ...unknown[]][]]
  const sizes = entries.map((entry) => ({ name: entry[0], size: JSON.stringify(entry).length }))
  const [largest] = sizes.sort((a, b) => b.size - a.size)
  throw new HeadgateError(
    'HEADGATE_STATE_SIZE',
    `A key would take ${text.length} bytes, most of them for policy ${shown(largest?.name)}. The call changed nothing. ` +
      `${store} holds ${bytes}. Choose a smaller limit, a segmentedWindow or another store.`,
  )
}
