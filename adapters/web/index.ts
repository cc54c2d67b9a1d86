/*
 * Code that the adapters of fetch handlers, Hono and h3 share, for the Request and Response of the fetch standard in any runtime.
 * This folder imports `http` and `common`.
 */

export { answerOf } from './answer-of.ts'
export { answerWriter } from './answer-writer.ts'
export { addressView, clientHasLeft, finderOver, toldFinder } from './client-address.ts'
export { type Any, FetchCall, type FetchExchange, type FetchOwnOptions, fetchFramework } from './fetch-framework.ts'
export { asksForWebSocket } from './upgrades.ts'
export type { Answer, ClosingSocket } from './web-answer.ts'
export { whenAnswered } from './when-answered.ts'
