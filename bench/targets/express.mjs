import express from 'express'
import peer from 'express-rate-limit'
import compat from 'headgate/compat/express-rate-limit'
import { rateLimit } from 'headgate/express'
import { requests } from './message.mjs'

/* What a middleware adds to a request with the prototypes of an Express application. */

const app = express()

/** Runs a middleware, as `app.use` takes it, for each request. */
export function through(addresses, middleware) {
  const handle = (request, response, next) => {
    request.res = response
    response.locals = Object.create(null)
    middleware(request, response, next)
  }
  return requests(addresses, handle, { request: app.request, response: app.response })
}

export const bare = (_request, _response, next) => next()

/** The least cost of three headers. */
export function byHand(_request, response, next) {
  response.setHeader('X-RateLimit-Limit', '1000000000')
  response.setHeader('X-RateLimit-Remaining', '999999999')
  response.setHeader('X-RateLimit-Reset', '1800000000')
  next()
}

export function draftByHand(_request, response, next) {
  response.setHeader('RateLimit-Policy', '"1h";q=1000000000;w=3600')
  response.setHeader('RateLimit', '"1h";r=999999999;t=3600')
  next()
}

export function headgate(limit, headers) {
  return rateLimit({ limit, window: '1h', headers })
}

/** With `validate: false`, as its documentation recommends for production. */
export function expressRateLimit(limit, headers, module = peer) {
  const draft = headers === 'legacy' ? false : headers
  return module({ limit, windowMs: 3_600_000, legacyHeaders: !draft, standardHeaders: draft, validate: false })
}

/** The module that stands in for it. */
export function compatRateLimit(limit, headers) {
  return expressRateLimit(limit, headers, compat)
}
