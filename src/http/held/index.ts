/*
 * Units that a request holds until its response has ended: units in flight (of `concurrency` policies), and units for `count` and `settle`.
 * This folder imports the files of `http`.
 */

export { checkPenalty, HeldReservations } from './held-reservations.ts'
export { type EndingResponse, whenEnded } from './when-ended.ts'
