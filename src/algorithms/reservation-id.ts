/**
 * An id for the reservations of a state that has none open: from 1 to 2^48. It is random, because a state that was reset
 * must not know the reservations from before, and any process may open the next ones.
 */
export function newReservationId(): number {
  return 1 + Math.floor(Math.random() * 2 ** 48)
}
