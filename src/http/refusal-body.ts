import Negotiator from 'negotiator'
import type { Policy } from '../algorithms/algorithm.ts'
import type { Decision } from '../decision.ts'
import { retryAfterSeconds, tryAgain } from './retry-after.ts'

const types = ['text/plain', 'application/json'] as const

/** The body of a response that ends a request, and its content type. */
export interface Body {
  readonly type: string
  readonly body: string
}

/** The label of each policy that has one of its own, by the policy's name. */
export type Labels = ReadonlyMap<string, string>

export function labelsOf(policies: readonly Policy[]): Labels {
  return new Map(policies.flatMap(({ name, label = name }) => (label === name ? [] : [[name, label]])))
}

/** For a refused request: in the type that the client accepts, plain text if it has no preference. */
export function refusalBody(decision: Decision, status: number, accept: string | undefined, labels: Labels): Body {
  const text = message(decision)
  if (!prefersJson(accept)) return plain(text)
  const { policy, retryAfter } = decision
  return json({
    error: status === 403 ? 'forbidden' : 'too_many_requests',
    message: text,
    policy: labels.get(policy) ?? policy,
    retryAfter: retryAfterSeconds(retryAfter) ?? null,
  })
}

/** For a refused request, as problem details (RFC 9457) with the type and member that draft-11 registers. */
export function refusalProblem(decision: Decision, status: number, labels: Labels): Body {
  const violated = decision.policies.filter(({ allowed, shadow }) => !allowed && !shadow)
  return problem({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status,
    detail: message(decision),
    'violated-policies': violated.map(({ name }) => labels.get(name) ?? name),
  })
}

/** For a request from an address on the deny list. */
export function denialBody(accept: string | undefined, asProblem: boolean): Body {
  if (asProblem) return problem({ type: 'about:blank', title: 'Forbidden', status: 403 })
  return prefersJson(accept) ? json({ error: 'forbidden', message: 'Forbidden.' }) : plain('Forbidden.')
}

/** For a request that cannot be decided. */
export function unavailableBody(seconds: number, accept: string | undefined, asProblem: boolean): Body {
  const text = `Service unavailable. ${tryAgain(seconds)}`
  if (asProblem) return problem({ type: 'about:blank', title: 'Service Unavailable', status: 503, detail: text })
  return prefersJson(accept) ? json({ error: 'unavailable', message: text, retryAfter: seconds }) : plain(text)
}

function message({ limit, retryAfter }: Decision): string {
  if (limit === 0) return 'Too many requests: this limit admits nobody.'
  const seconds = retryAfterSeconds(retryAfter)
  if (seconds === undefined) return 'Too many requests: this one costs more than is ever admitted at once.'
  return `Too many requests. ${tryAgain(seconds)}`
}

function plain(text: string): Body {
  return { type: 'text/plain; charset=utf-8', body: `${text}\n` }
}

function json(members: object): Body {
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(members) }
}

function problem(members: object): Body {
  return { type: 'application/problem+json', body: JSON.stringify(members) }
}

/** Browsers send about 150 characters. To negotiate 15,000 would take 4 ms, which a flood of refusals cannot have. */
const longestAccept = 512

function prefersJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*') return false
  return (
    new Negotiator({ headers: { accept: accept.slice(0, longestAccept) } }).mediaType([...types]) === 'application/json'
  )
}
