import type { Policy } from '../algorithms/index.ts'
import { callOptions, type Duration, HeadgateError, milliseconds, oneOf } from '../common/index.ts'
import type { CostOptions } from './call-arguments.ts'

/** The options of `reserve`. */
export interface ReserveOptions extends CostOptions {
  /** The longest acceptable wait until the reserved time: milliseconds, or a text such as `'2s'`. Default 0: only units available now. */
  maxWait?: Duration | undefined
  /**
   * How long the reservation may stay open, by the store's clock: milliseconds, or a text such as `'10m'`. After this time, `onExpiry`
   * decides about the units. Default: the reservation does not expire, so units that are never settled stay used.
   */
  expires?: Duration | undefined
  /**
   * What happens to the units of a reservation that is not settled when it expires. `'keep'` (default): the units stay used. `'give-back'`:
   * the units are given back under each `calendarWindow`, and under each `fixedWindow` with `giveBack` or `thresholds`. Under other
   * policies, the units stay used.
   */
  onExpiry?: 'keep' | 'give-back' | undefined
}

const reserveNames = ['cost', 'maxWait', 'calendar', 'expires', 'onExpiry']

/** The options with `maxWait` in milliseconds, and `expires` in microseconds: after this time, units are given back. */
interface ReadReserve extends Omit<ReserveOptions, 'maxWait' | 'expires' | 'onExpiry'> {
  readonly maxWait: number
  readonly expires: number | undefined
}

/** @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_MAX_WAIT` for an unknown or invalid option */
export function readReserve(options: ReserveOptions = {}, policies: readonly Policy[]): ReadReserve {
  callOptions('reserve', options, reserveNames)
  const { maxWait = 0 } = options
  return {
    ...options,
    maxWait: milliseconds(maxWait, 'reserve: maxWait', 'HEADGATE_MAX_WAIT', 0),
    expires: expiryOf(options, policies),
  }
}

const onExpiryReader = oneOf('keep', 'give-back')

/**
 * After how many microseconds a reservation gives its units back. Undefined if the units stay used.
 * @throws HeadgateError `HEADGATE_OPTION` for an invalid option, or if no policy can give units back
 */
function expiryOf({ expires, onExpiry }: ReserveOptions, policies: readonly Policy[]): number | undefined {
  const after = expires === undefined ? undefined : milliseconds(expires, 'reserve: expires', 'HEADGATE_OPTION')
  if (onExpiryReader(onExpiry, 'reserve: onExpiry') === 'keep') return undefined
  if (after === undefined) {
    throw new HeadgateError('HEADGATE_OPTION', "reserve: onExpiry: 'give-back' needs expires. Write expires: '10m'.")
  }
  if (policies.length === 0 || policies.some(({ algorithm }) => algorithm.expiring)) return after * 1000
  throw new HeadgateError(
    'HEADGATE_OPTION',
    "reserve: onExpiry: 'give-back' needs a policy that can give units back when a reservation expires. Use calendarWindow, or " +
      'fixedWindow with giveBack: true.',
  )
}
