import { Answer } from './web-answer.ts'

/** The property that has the Answer (what limiters add to the response) of a request, on the Request or on the context of a framework. */
const kept: unique symbol = Symbol('headgate.answer')

/**
 * The Answer of this request (what limiters add to the response). Makes the Answer unless an earlier limiter has made it.
 * @param limit a limit that decides. If it has decided on the request before, it gets a new Answer, because each decision has a response
 */
export function answerOf(owner: object, limit?: object): Answer {
  const keeper = owner as { [kept]?: Answer }
  let answer = keeper[kept]
  if (answer === undefined || answer.used || answer.ended || (limit !== undefined && !answer.joins(limit))) {
    // After a handler has thrown, code around it may ask the next limit: the response has the fields of both.
    const before = answer?.used === false && (limit === undefined || answer.joins(limit)) ? answer.fields : {}
    answer = new Answer()
    Object.assign(answer.fields, before)
    if (limit !== undefined) answer.joins(limit)
    keeper[kept] = answer
  }
  return answer
}
