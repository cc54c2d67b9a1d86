/*
 * Turns commands into arguments of a script, and replies of the script into responses: requests, batches, messages, replies.
 * This folder imports `client` and `script`.
 */

export { Batcher } from './batcher.ts'
export { lateResponse, thresholdsOf } from './late-response.ts'
export { RedisNode } from './node-notes.ts'
export type { RequestExtras, ScriptRequest } from './script-request.ts'
export { decisionOf, type PolicyReport, type ScriptResponse } from './script-response.ts'
export { type SlotGroup, SlotGroups, severalSlots } from './slot-groups.ts'
export { sendInTwoPhases } from './two-phase.ts'
