/*
 * Units that a request holds until its response has ended: units in flight (of `concurrency` policies), and units for `count` and `settle`.
 * This folder imports the files of `http`.
 */

export { Attachment } from './attachment.ts'
export { checkPenalty } from './check-penalty.ts'
export { type CountedRequest, CountedRequests } from './counted-requests.ts'
export { endWorkDone, workOf } from './end-work.ts'
export { HeldRequest, HeldReservations } from './held-reservations.ts'
export { KeyedDecision } from './request-decision.ts'
export { type EndingResponse, forgetStatus, hasLeft, isReplaced, whenClosed, whenEnded } from './when-ended.ts'
