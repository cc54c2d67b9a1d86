import type { Framework } from '../../src/http/index.ts'
import type { Answer } from './web-answer.ts'

/** The functions with which a guard (the code that decides on a request) sets fields or a refusal on an Answer. */
export function answerWriter<Owner>(
  of: (owner: Owner) => Answer,
): Pick<
  Framework<unknown, Owner>,
  'setHeader' | 'responseHeader' | 'setStatus' | 'clearRefusal' | 'send' | 'returned'
> {
  return {
    setHeader(owner, name, value) {
      of(owner).fields[name] = value
    },
    responseHeader: (owner, name) => of(owner).fields[name],
    setStatus(owner, status) {
      of(owner).status = status
    },
    clearRefusal(owner) {
      const answer = of(owner)
      answer.status = 200
      answer.refusal = undefined
      delete answer.fields['Retry-After']
      delete answer.fields['Cache-Control']
    },
    send(owner, type, body) {
      const answer = of(owner)
      answer.type = type
      answer.refusal = body
    },
    returned(owner, value) {
      of(owner).refusal = value
    },
  }
}
