/*
 * `headgate/http`: the functions and types for the author of an adapter (the code for one web framework). The types of a middleware's
 * options and hooks are in `headgate`.
 */

export { type EndingResponse, hasLeft, whenEnded } from './http/held/index.ts'
export { createGuard, type Framework, type Guard, type LimiterOf, type Policies, routeName } from './http/index.ts'
export { isIncomplete, isUnixSocket } from './http/keys/index.ts'
