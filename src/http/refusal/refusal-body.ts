import Negotiator from 'negotiator'
import type { Policy } from '../../algorithms/index.ts'
import type { Decision } from '../../policy/index.ts'
import { retryAfterSeconds, tryAgain } from '../retry-after.ts'
import { type ClientRefusal, clientName } from './client-refusal.ts'

/** The formats of a response body. `problem` is problem details (RFC 9457). */
export type Form = 'text' | 'json' | 'problem'

export const contentTypes: Readonly<Record<Form, string>> = {
  text: 'text/plain; charset=utf-8',
  json: 'application/json; charset=utf-8',
  problem: 'application/problem+json',
}

/** A response body: a text in the format `text`, or else an object that is sent as JSON. */
export type Body = string | object

/**
 * The body for a refused request. In the format `problem`, the body has the problem type and the member `violated-policies`
 * that draft 11 of the RateLimit header fields (IETF) defines.
 */
export function refusalBody(
  form: Form,
  decision: Decision,
  told: ClientRefusal,
  status: number,
  policies: readonly Policy[],
): Body {
  const text = message(decision, told)
  if (form === 'text') return text
  if (form === 'json') {
    const error = status === 403 ? 'forbidden' : 'too_many_requests'
    return { error, message: text, policy: told.policy, retryAfter: retryAfterSeconds(told.retryAfter) ?? null }
  }
  const violated = decision.policies.filter(({ allowed, shadow }) => !allowed && !shadow)
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status,
    detail: text,
    'violated-policies': violated.map(({ name }) => clientName(name, policies)).filter((name) => name !== null),
  }
}

export function denialBody(form: Form): Body {
  if (form === 'problem') return { type: 'about:blank', title: 'Forbidden', status: 403 }
  return form === 'json' ? { error: 'forbidden', message: 'Forbidden.' } : 'Forbidden.'
}

/**
 * The response body for a request that the store could not decide.
 * @param seconds how many seconds the client should wait before a new attempt
 */
export function unavailableBody(form: Form, seconds: number): Body {
  const text = `Service unavailable. ${tryAgain(seconds)}`
  if (form === 'problem') return { type: 'about:blank', title: 'Service Unavailable', status: 503, detail: text }
  return form === 'json' ? { error: 'unavailable', message: text, retryAfter: seconds } : text
}

function message({ limit, ban }: Decision, { policy, retryAfter }: ClientRefusal): string {
  if (limit === 0 && policy !== null) return 'Too many requests: this limit admits nobody.'
  const seconds = retryAfterSeconds(retryAfter)
  if (seconds === undefined && (ban || policy === null)) return 'Too many requests.'
  if (seconds === undefined) return 'Too many requests: this one costs more than is ever admitted at once.'
  return `Too many requests. ${tryAgain(seconds)}`
}

/**
 * How many characters of the field `Accept` are read. Browsers send about 150 characters. Reading 15,000 characters takes 4 ms, too
 * long for a flood of refused requests.
 */
const longestAccept = 512

/** True if the client prefers JSON to plain text, by its `Accept` field. A client without a preference gets plain text. */
export function prefersJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*') return false
  // A client may ask for a character set, or for a dialect of its own.
  const types = accept.slice(0, longestAccept).replace(/;(?!\s*q\s*=)[^;,]*/gi, '')
  const negotiator = new Negotiator({ headers: { accept: types } })
  return negotiator.mediaType(['text/plain', 'application/json']) === 'application/json'
}
