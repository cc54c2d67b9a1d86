/** A flag in the verb of a request: the response of the script has to say how long it takes until `remaining` grows. */
export const nextFlag = 8
/**
 * A flag in the verb of a request: if the call is refused, the response of the script also has to say how long it takes until `remaining`
 * grows. Until then, this process can refuse such calls without Redis.
 */
export const cacheableFlag = 16
