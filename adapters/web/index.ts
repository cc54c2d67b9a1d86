/*
 * What the adapters of fetch handlers, Hono and h3 share: Request and Response, on a server of Node or elsewhere. This
 * folder imports `http` and `common`.
 */

export { addressView, finderOver, toldFinder } from './address-view.ts'
export { type Any, FetchCall, type FetchExchange, type FetchOwnOptions, fetchFramework } from './fetch-framework.ts'
export { type Answer, answerOf, answerWriter } from './web-answer.ts'
