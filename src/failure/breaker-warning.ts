import { emitWarning } from '#platform'
import { reason } from '../common/index.ts'
import type { OnStoreError, StoreErrorAction } from '../stores/contract/index.ts'
import type { Breaker } from './breaker.ts'

/** After a warning that a breaker has opened, new openings of this breaker give no warning for this time, in microseconds. */
const quietTime = 60_000_000

const code = 'HEADGATE_STORE_STATE'

/** For each breaker: when the breaker opened, for the last opening with a warning. In microseconds. */
const toldAt = new WeakMap<Breaker, number>()
/** For each breaker: when the breaker opened, for the last opening that `warnIfOpened` has handled, with or without a warning. */
const seen = new WeakMap<Breaker, number>()

const actions: Readonly<Record<StoreErrorAction, string>> = {
  local: 'decided in this process',
  open: 'let through uncounted',
  closed: 'refused',
  throw: "rejected with the store's error",
}

/** Warns that the breaker has opened and how calls are decided, at most once a minute. Warns again when this breaker has closed. */
export function warnIfOpened(
  breaker: Breaker,
  limiter: string,
  option: OnStoreError | undefined,
  taken: StoreErrorAction,
): void {
  const { openedAt, lastError } = breaker
  if (breaker.apart || openedAt === undefined || seen.get(breaker) === openedAt) return
  seen.set(breaker, openedAt)
  const last = toldAt.get(breaker)
  if (last !== undefined && openedAt - last < quietTime) return
  toldAt.set(breaker, openedAt)
  const by = typeof option === 'function' ? 'by the function onStoreError' : `onStoreError: '${taken}'`
  const who = nameOf(breaker, limiter)
  emitWarning(`${who} fails. Until it answers, calls are ${actions[taken]} (${by}). ${reason(lastError)}`, code)
  breaker.onClosed = (closedBy) => {
    const seconds = ((breaker.now - openedAt) / 1_000_000).toFixed(1)
    emitWarning(`${nameOf(breaker, closedBy)} answers again, after ${seconds} s.`, code)
  }
}

function nameOf({ store: { traits }, shard }: Breaker, limiter: string): string {
  const parts = [`limiter ${JSON.stringify(limiter)}`]
  if (traits?.prefix !== undefined) parts.push(`prefix ${JSON.stringify(traits.prefix)}`)
  if (shard !== undefined) parts.push(`shard ${shard}`)
  return `The store of ${parts.join(', ')}`
}
