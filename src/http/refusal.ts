import Negotiator from 'negotiator'
import type { Decision } from '../decision.ts'

const types = ['text/plain', 'application/json'] as const

/** The body of a refusal, in the type that the client accepts, plain text if it has no preference. */
export function refusal(decision: Decision, accept: string | undefined): { type: string; body: string } {
  const message = Number.isFinite(decision.retryAfter)
    ? `Too many requests. Try again in ${seconds(decision.retryAfter)}.`
    : 'Too many requests: this one costs more than is ever admitted at once.'
  if (preferred(accept) === 'text/plain') return { type: 'text/plain; charset=utf-8', body: `${message}\n` }
  const { policy, retryAfter } = decision
  const body = { error: 'too_many_requests', message, policy, retryAfter: retryAfterSeconds(retryAfter) ?? null }
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(body) }
}

/** Whole seconds, rounded up, for Retry-After (RFC 9110, 10.2.3); undefined for a cost that can never fit. */
export function retryAfterSeconds(retryAfter: number): number | undefined {
  return Number.isFinite(retryAfter) ? Math.ceil(retryAfter / 1000) : undefined
}

function seconds(retryAfter: number): string {
  const whole = retryAfterSeconds(retryAfter)
  return whole === 1 ? '1 second' : `${whole} seconds`
}

function preferred(accept: string | undefined): string {
  if (accept === undefined || accept === '*/*') return types[0]
  return new Negotiator({ headers: { accept } }).mediaType([...types]) ?? types[0]
}
