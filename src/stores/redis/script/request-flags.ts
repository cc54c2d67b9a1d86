/** A flag in the verb of a request: the response has to say when `remaining` grows. */
export const nextFlag = 8
/**
 * A flag in the verb of a request: if the call is refused, the response has to say when `remaining` grows. Until then, this
 * process can refuse such calls without Redis.
 */
export const cacheableFlag = 16
