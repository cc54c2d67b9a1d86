import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'
import { draftFields, secondsLeft } from '../counter-store.ts'
import { DAY, HOUR, MINUTE, type RateLimitInfo, SECOND, type ValueDeterminingMiddleware } from './types.ts'
import type { Config } from './validations.ts'

/** The default of the option `identifier`, which is the name of the policy: the limit and the window, such as `5-in-1min`. */
export function policyName(info: RateLimitInfo | undefined, windowMs: number): string {
  const units = [
    [DAY, 'day', 's'],
    [HOUR, 'hr', 's'],
    [MINUTE, 'min', ''],
    [SECOND, 'sec', ''],
  ] as const
  const [length, name, plural] = units.find(([unit]) => windowMs >= unit) ?? units[3]
  const count = windowMs / length
  return `${info?.limit}-in-${count}${name}${count > 1 ? plural : ''}`
}

function setLegacyHeaders(response: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  response.setHeader('X-RateLimit-Limit', String(limit))
  response.setHeader('X-RateLimit-Remaining', String(remaining))
  if (!(resetTime instanceof Date)) return
  // A client compares the reset time below with the field `Date`, so both times must come from the same clock.
  response.setHeader('Date', new Date().toUTCString())
  response.setHeader('X-RateLimit-Reset', String(Math.ceil(resetTime.getTime() / 1000)))
}

/**
 * Sets the fields of the IETF draft that the option `standardHeaders` names.
 * @param name the name of the policy; only the fields of draft-8 contain the name
 */
function setStandardHeaders(config: Config, response: Response, info: RateLimitInfo, name: string | undefined): void {
  const { limit, remaining, resetTime, key } = info
  const { windowMs, standardHeaders, validations } = config
  if (standardHeaders !== 'draft-6') {
    const whole = 'The store tells no resetTime, so a whole window is shown.'
    validations.warn('headersResetTime', resetTime === undefined, 'ERR_ERL_HEADERS_NO_RESET', whole)
  }
  if (standardHeaders === 'draft-8') {
    const digest = createHash('sha256').update(String(key)).digest('hex').slice(0, 12)
    const partition = Buffer.from(digest).toString('base64')
    response.append('RateLimit', `"${name}"; r=${remaining}; t=${secondsLeft(resetTime, windowMs)}`)
    response.append('RateLimit-Policy', `"${name}"; q=${limit}; w=${Math.ceil(windowMs / 1000)}; pk=:${partition}:`)
    return
  }
  const fields = draftFields(standardHeaders, info, windowMs)
  for (const name of Object.keys(fields)) response.setHeader(name, fields[name] as string)
}

const drafts: readonly unknown[] = ['draft-6', 'draft-7', 'draft-8']

export async function setHeaders(
  config: Config,
  request: Request,
  response: Response,
  info: RateLimitInfo,
): Promise<void> {
  const { standardHeaders, legacyHeaders } = config
  if (legacyHeaders && !response.headersSent) setLegacyHeaders(response, info)
  if (!standardHeaders || response.headersSent) return
  const known = drafts.includes(standardHeaders)
  const message = `standardHeaders must be one of ${drafts.join(', ')}.`
  config.validations.warn('headersDraftVersion', !known, 'ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION', message)
  if (!known) return
  const name = standardHeaders === 'draft-8' ? await resolved(config.identifier, request, response) : undefined
  if (!response.headersSent) setStandardHeaders(config, response, info, name)
}

/** The value of an option for this request: the option, or the option's result if the option is a function. */
export function resolved<T>(
  value: T | ValueDeterminingMiddleware<T>,
  request: Request,
  response: Response,
): T | Promise<T> {
  return typeof value === 'function' ? (value as ValueDeterminingMiddleware<T>)(request, response) : value
}
