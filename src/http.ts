/*
 * What the author of an adapter imports: `headgate/http`. The types of a middleware's options and hooks come from
 * `headgate`.
 */

export { type EndingResponse, whenEnded } from './http/held/index.ts'
export { createGuard, type Framework, type Guard, type LimiterOf, type Policies, routeName } from './http/index.ts'
export { isUnixSocket } from './http/keys/index.ts'
