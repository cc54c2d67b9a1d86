/*
 * From a command to the arguments of a script and back: requests, batches, messages, replies. It imports `client` and
 * `script`.
 */

export { Batcher } from './batcher.ts'
export type { RequestExtras, ScriptRequest } from './script-request.ts'
export { decisionOf, type PolicyReport, type ScriptResponse } from './script-response.ts'
export { type SlotGroup, SlotGroups } from './slot-groups.ts'
export { sendInTwoPhases } from './two-phase.ts'
