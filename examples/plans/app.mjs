import express from 'express'
import { byHeader, fixedWindow, tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

/** Who holds which API key; an application asks its database. */
const planOf = new Map([
  ['key-of-ann', 'pro'],
  ['key-of-bob', 'free'],
])

/**
 * What each plan promises: so many at once, and so many a day. One limiter a plan, made once; its keys are the callers'.
 */
const plans = {
  free: planLimit({ perSecond: 1, perDay: 5 }),
  pro: planLimit({ perSecond: 10, perDay: 10_000 }),
}

function planLimit({ perSecond, perDay }) {
  return rateLimit({
    policies: [
      tokenBucket({ name: 'rate', limit: perSecond, window: '1s', burst: 2 * perSecond }),
      fixedWindow({ name: 'quota', limit: perDay, window: '1d' }),
    ],
    keys: byHeader('x-api-key'),
    headers: 'draft-11',
  })
}

export function createApp() {
  const app = express()

  // Callers without a valid key are limited by address, and not let in: guessing keys is slow.
  const guesses = rateLimit('10/1h')
  app.use((request, response, next) => {
    const plan = planOf.get(request.get('x-api-key'))
    if (plan !== undefined) return plans[plan](request, response, next)
    guesses(request, response, (error) => (error ? next(error) : response.status(401).send('Which key?\n')))
  })

  app.get('/', (request, response) => {
    response.json({
      left: Object.fromEntries(request.rateLimit.policies.map(({ name, remaining }) => [name, remaining])),
    })
  })
  return app
}
