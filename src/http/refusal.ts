import Negotiator from 'negotiator'
import type { Decision } from '../decision.ts'

const types = ['text/plain', 'application/json'] as const

/** What ends a response: a body and its type. */
export interface Body {
  readonly type: string
  readonly body: string
}

/** The body of a refusal, in the type that the client accepts, plain text if it has no preference. */
export function refusal(decision: Decision, status: number, accept: string | undefined): Body {
  const text = message(decision)
  if (!prefersJson(accept)) return plain(text)
  const { policy, retryAfter } = decision
  return json({
    error: status === 403 ? 'forbidden' : 'too_many_requests',
    message: text,
    policy,
    retryAfter: retryAfterSeconds(retryAfter) ?? null,
  })
}

/** The body for an address on the deny list. */
export function denial(accept: string | undefined, asProblem: boolean): Body {
  if (asProblem) return problem({ type: 'about:blank', title: 'Forbidden', status: 403 })
  return prefersJson(accept) ? json({ error: 'forbidden', message: 'Forbidden.' }) : plain('Forbidden.')
}

/** The body for a request that cannot be decided. */
export function unavailable(seconds: number, accept: string | undefined, asProblem: boolean): Body {
  const text = `Service unavailable. ${again(seconds)}`
  if (asProblem) return problem({ type: 'about:blank', title: 'Service Unavailable', status: 503, detail: text })
  return prefersJson(accept) ? json({ error: 'unavailable', message: text, retryAfter: seconds }) : plain(text)
}

/** Problem details (RFC 9457) with the type and member that draft-11 registers. */
export function quotaProblem(decision: Decision, status: number): Body {
  const violated = decision.policies.filter(({ allowed, shadow }) => !allowed && !shadow)
  return problem({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status,
    detail: message(decision),
    'violated-policies': violated.map(({ name }) => name),
  })
}

/** Whole seconds, rounded up, for Retry-After (RFC 9110, 10.2.3); undefined for a cost that can never fit. */
export function retryAfterSeconds(retryAfter: number): number | undefined {
  return Number.isFinite(retryAfter) ? Math.ceil(retryAfter / 1000) : undefined
}

function message({ retryAfter }: Decision): string {
  const seconds = retryAfterSeconds(retryAfter)
  if (seconds === undefined) return 'Too many requests: this one costs more than is ever admitted at once.'
  return `Too many requests. ${again(seconds)}`
}

function again(seconds: number): string {
  return `Try again in ${seconds === 1 ? '1 second' : `${seconds} seconds`}.`
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

function prefersJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*') return false
  return new Negotiator({ headers: { accept } }).mediaType([...types]) === 'application/json'
}
