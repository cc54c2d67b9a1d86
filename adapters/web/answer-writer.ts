import type { Framework } from '../../src/http/index.ts'
import { keptFields } from '../response-fields.ts'
import type { Answer } from './web-answer.ts'

/** The functions with which a guard (the code that decides on a request) sets fields or a refusal on an Answer. */
export function answerWriter<Owner>(
  of: (owner: Owner) => Answer,
): Pick<Framework<unknown, Owner>, 'setHeader' | 'responseHeader' | 'setStatus' | 'snapshot' | 'send' | 'returned'> {
  return {
    setHeader(owner, name, value) {
      of(owner).fields[name] = value
    },
    responseHeader: (owner, name) => of(owner).fields[name],
    setStatus(owner, status) {
      of(owner).status = status
    },
    snapshot(owner) {
      const answer = of(owner)
      const { status, refusal, fields } = answer
      const restoreFields = keptFields(
        (name) => fields[name],
        (name, value) => Object.assign(fields, { [name]: value }),
        (name) => delete fields[name],
      )
      return () => {
        Object.assign(answer, { status, refusal })
        restoreFields()
      }
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
