/** In the verb of a request: its response tells when `remaining` grows. */
export const nextFlag = 8
/** The same if the call is refused, so that the cache of refusals can repeat it until then. */
export const cacheableFlag = 16
