import type { Policy } from '../algorithms/algorithm.ts'
import { Bucket } from '../algorithms/bucket.ts'
import type { Details } from '../algorithms/step.ts'
import type { Decision, Verdict } from '../decision.ts'
import { HeadgateError, shown } from '../errors.ts'
import type { Framework } from './framework.ts'

/**
 * `'legacy'`: X-RateLimit-Limit, -Remaining and -Reset (epoch seconds) of the binding policy.
 * `'draft-11'`: RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-11, every policy in both.
 */
export type Dialect = 'legacy' | 'draft-11'

/** Where fields are set: the part of a framework that knows how. */
export type Sink<Response> = Pick<Framework<never, Response>, 'setHeader'>

/** Writes the fields of one dialect; seconds are whole and rounded up. */
type Writer = <Response>(decision: Decision, sink: Sink<Response>, response: Response) => void

/** Writers by dialect, each made for one limiter's policies. A shadow is not promised to anybody and is not told. */
const dialects: Record<Dialect, (policies: readonly Policy[]) => Writer> = { legacy, 'draft-11': draft11 }

/** Which fields a response carries, made ready for one limiter. */
export class Headers {
  /** What decisions have to tell for them. */
  readonly details: Details
  readonly #writers: readonly Writer[]

  /** @throws HeadgateError `HEADGATE_OPTION` for a dialect that does not exist */
  constructor(wanted: Dialect | readonly Dialect[] | false, policies: readonly Policy[]) {
    const names: readonly Dialect[] = wanted === false ? [] : typeof wanted === 'string' ? [wanted] : wanted
    const unknown = Array.isArray(names) ? names.find((name) => !Object.hasOwn(dialects, name)) : names
    if (unknown !== undefined) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `headers must be ${Object.keys(dialects).map(shown).join(', ')}, a list of these, or false, got ${shown(unknown)}. ` +
          `Leave it out for 'legacy'.`,
      )
    }
    const told = policies.some((policy) => !policy.shadow)
    this.#writers = told ? names.map((name) => dialects[name](policies)) : []
    this.details = { at: told && names.includes('legacy'), nextAfter: told && names.includes('draft-11') }
  }

  write<Response>(decision: Decision, sink: Sink<Response>, response: Response): void {
    for (const writer of this.#writers) writer(decision, sink, response)
  }
}

function legacy(): Writer {
  const limit = new NumberText()
  const reset = new NumberText()
  return (decision, sink, response) => {
    const binding = bindingOf(decision)
    sink.setHeader(response, 'X-RateLimit-Limit', limit.of(binding.limit))
    sink.setHeader(response, 'X-RateLimit-Remaining', String(decision.remaining))
    sink.setHeader(
      response,
      'X-RateLimit-Reset',
      reset.of(Math.ceil(((decision.at as number) + binding.resetAfter) / 1000)),
    )
  }
}

/** The text of a number that is mostly the one before: a limit, the second that is under way. */
class NumberText {
  #number = 0
  #text = '0'

  of(number: number): string {
    if (number !== this.#number) {
      this.#number = number
      this.#text = String(number)
    }
    return this.#text
  }
}

function bindingOf({ policies, policy }: Decision): Verdict {
  return (policies.length === 1 ? policies[0] : policies.find(({ name }) => name === policy)) as Verdict
}

function draft11(policies: readonly Policy[]): Writer {
  const told = policies.map((policy, n) => ({ policy, n })).filter(({ policy }) => !policy.shadow)
  const names = told.map(({ policy }) => structuredString(policy.name))
  const promises = told
    .map(({ policy }, n) => `${names[n]};q=${policy.limit};w=${Math.ceil(policy.window / 1000)}`)
    .join(', ')
  return (decision, sink, response) => {
    let left = ''
    for (const [n, { policy, n: place }] of told.entries()) {
      const verdict = decision.policies[place] as Verdict
      left += `${n === 0 ? '' : ', '}${names[n]};r=${verdict.remaining}${effectiveWindow(policy, verdict)}`
    }
    sink.setHeader(response, 'RateLimit-Policy', promises)
    sink.setHeader(response, 'RateLimit', left)
  }
}

/**
 * `t`, the time within which no more than what is left can be used: until more comes back. A bucket gives back all the
 * time, so there it is told only when the next unit fills it, and left out otherwise.
 */
function effectiveWindow({ algorithm }: Policy, { nextAfter, resetAfter }: Verdict): string {
  const until = algorithm instanceof Bucket && nextAfter !== resetAfter ? 0 : nextAfter
  return until ? `;t=${Math.ceil(until / 1000)}` : ''
}

/** A Structured Field String (RFC 9651, 4.1.6); policy names are printable ASCII already. */
function structuredString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
