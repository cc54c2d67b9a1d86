/** A flag in the verb of a request: its response has to say when remaining grows. */
export const nextFlag = 8
/** A flag in the verb of a request: if it is refused, its response says when remaining grows, so the refusal can be repeated. */
export const cacheableFlag = 16
