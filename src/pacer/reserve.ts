import type { MaybePromise } from '../maybe-promise.ts'
import type { Booking } from '../stores/store.ts'
import { closed } from './errors.ts'
import type { KeyPacer } from './key-pacer.ts'
import { PacerReservation } from './reservation.ts'
import { Slot } from './slot.ts'

/**
 * Books a turn in a lane that the caller waits for by himself. Where turns are asked for there is one now or none, and none
 * while others wait.
 * @param maxWait microseconds
 * @throws HeadgateError `HEADGATE_CLOSED`
 */
export function reserve(lane: KeyPacer, cost: number, maxWait: number): MaybePromise<PacerReservation> {
  const { shop, keys, queueing } = lane
  if (shop.closed) throw closed()
  const refused = (retryAfter: number) => new PacerReservation(lane.now, cost, Infinity, retryAfter, undefined)
  if (lane.stopped) return refused(lane.stoppedFor)
  if (!shop.promises && lane.waiting > 0) return refused(Infinity)
  const { generation } = shop.bank
  const granted = ({ decision, wait, tickets }: Booking): PacerReservation => {
    if (!decision.allowed) return refused(decision.retryAfter)
    const { now } = lane
    const turn = new Slot({ cost, generation, reserved: true, come: () => undefined }, tickets, now + wait * 1000)
    queueing.reserved(turn)
    return new PacerReservation(now, cost, wait, 0, {
      giveBack: (units) => queueing.giveBack(turn, units),
      charge: (units) => shop.bank.charge(keys, units),
    })
  }
  const booking = shop.bank.reserve(keys, cost, shop.promises ? maxWait : 0)
  if (!(booking instanceof Promise)) return granted(booking)
  lane.asking++
  const answered = () => {
    lane.asking--
    lane.settled()
  }
  return booking.then(granted).finally(answered)
}
