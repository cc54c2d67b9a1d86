import { channel } from '#platform'
import { monotonicClock } from '../../common/index.ts'

/**
 * The event that the channel `headgate:store:exchange` gets after an exchange: one request of a store to its server, such as a script call
 * or a transaction, and the server's answer. An exchange decides one call or several.
 */
export interface ExchangeEvent {
  /** The kind of the store, such as `'redis'`. */
  readonly kind: string
  /** How many calls the exchange (one request to the server) decided. */
  readonly calls: number
  /** The milliseconds from the request until its answer, its failure or its deadline. */
  readonly duration: number
  /** The error of the exchange (one request to the server); undefined if the server has answered. */
  readonly error: unknown
}

const exchanges = channel('headgate:store:exchange')

/** The start time of an exchange for `exchanged`, in microseconds. 0 if the channel has no subscribers, to save reading the clock. */
export function exchangeStart(): number {
  return exchanges.hasSubscribers ? monotonicClock() : 0
}

export function exchanged(kind: string, startedAt: number, calls: number, error?: unknown): void {
  if (startedAt === 0 || !exchanges.hasSubscribers) return
  const duration = (monotonicClock() - startedAt) / 1000
  exchanges.publish({ kind, calls, duration, error } satisfies ExchangeEvent)
}
