/* Holds (stops of a key) that apply in every process that shares the store. */
import type { Decision } from '../../policy/index.ts'
import { holdIn } from '../pacer-ledger.ts'
import type { Queue } from './queue.ts'

/** Does what `Queue.hold` does, in every process that shares the store. @param until in microseconds */
export function holdAll(queue: Queue, until: number): void {
  const { now, context, keys, holding } = queue
  queue.hold(until)
  if (context.closed || until <= Math.max(now, holding.sharedUntil)) return
  holding.sharedUntil = until
  context.units.hold(keys, until - now)
}

/** Obeys a hold (stop of the key) that the store's decision reports. Returns false if no process holds the key. */
export function obeyHold(queue: Queue, decision: Decision): boolean {
  const wait = holdIn(decision)
  if (wait === 0) return false
  const { now } = queue
  const until = now + wait
  queue.holding.sharedUntil = Math.max(until, queue.holding.sharedUntil)
  queue.hold(until, now)
  return true
}
