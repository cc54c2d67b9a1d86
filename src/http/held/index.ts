/*
 * Units that a request holds until its response has ended: units in flight (of `concurrency` policies), and units for `count` and `settle`.
 * Also the requests that wait because of `delay`.
 * This folder imports the files of `http`.
 */

export { Attachment } from './attachment.ts'
export { checkPenalty } from './check-penalty.ts'
export { type CountedRequest, CountedRequests } from './counted-requests.ts'
export type { Delay } from './delay.ts'
export { endWorkDone, workOf } from './end-work.ts'
export { HeldRequest } from './held-request.ts'
export { HeldReservations } from './held-reservations.ts'
export { KeyedDecision } from './request-decision.ts'
export { type EndingResponse, forgetStatus, hasLeft, isReplaced, whenClosed, whenEnded } from './when-ended.ts'
