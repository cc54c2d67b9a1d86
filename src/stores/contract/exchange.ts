import { channel } from '#platform'
import { monotonicClock } from '../../common/index.ts'

/**
 * The event of the channel `headgate:store:exchange`: one exchange of a store with its server, such as a script call or a
 * transaction. An exchange decides one call or several.
 */
export interface ExchangeEvent {
  /** The store's kind, such as `'redis'`. */
  readonly kind: string
  /** How many calls the exchange decided. */
  readonly calls: number
  /** The time from the request to its answer, its failure or its deadline, in milliseconds. */
  readonly duration: number
  /** The error of the exchange; undefined if the server answered. */
  readonly error: unknown
}

const exchanges = channel('headgate:store:exchange')

/** The time to pass to `exchanged`, in microseconds. Without subscribers it is 0, and no clock is read. */
export function exchangeStart(): number {
  return exchanges.hasSubscribers ? monotonicClock() : 0
}

export function exchanged(kind: string, startedAt: number, calls: number, error?: unknown): void {
  if (startedAt === 0 || !exchanges.hasSubscribers) return
  const duration = (monotonicClock() - startedAt) / 1000
  exchanges.publish({ kind, calls, duration, error } satisfies ExchangeEvent)
}
