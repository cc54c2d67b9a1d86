import express from 'express'
import { byHeader, fixedWindow, tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

/** Who holds which API key; an application asks its database. */
const planOf = new Map([
  ['key-of-ann', 'pro'],
  ['key-of-bob', 'free'],
])

/** What each plan promises: so many at once, and so many a day. By their names they are the same promises in every plan. */
const plans = {
  free: promises({ perSecond: 1, perDay: 5 }),
  pro: promises({ perSecond: 10, perDay: 10_000 }),
}

function promises({ perSecond, perDay }) {
  return [
    tokenBucket({ name: 'rate', limit: perSecond, window: '1s', burst: 2 * perSecond }),
    fixedWindow({ name: 'quota', limit: perDay, window: '1d' }),
  ]
}

export function createApp() {
  const app = express()

  // Callers without a valid key are limited by address, and not let in: guessing keys is slow, and slower each time.
  const guesses = rateLimit({
    policies: '10/1h',
    penalty: { after: 5, within: '1h', block: ['1h', '1d'], status: 403 },
  })
  app.use((request, response, next) => {
    if (planOf.has(request.get('x-api-key'))) return next()
    guesses(request, response, (error) => (error ? next(error) : response.status(401).send('Which key?\n')))
  })

  app.use(
    rateLimit({
      policies: (request) => plans[planOf.get(request.get('x-api-key'))],
      keys: byHeader('x-api-key'),
      headers: 'draft-11',
    }),
  )

  app.get('/', (request, response) => {
    response.json({
      left: Object.fromEntries(request.rateLimit.policies.map(({ name, remaining }) => [name, remaining])),
    })
  })

  // An upgrade, or the way back: what was used today stays used.
  app.post('/plan/:plan', (request, response) => {
    const { plan } = request.params
    const known = Object.hasOwn(plans, plan)
    if (known) planOf.set(request.get('x-api-key'), plan)
    response.sendStatus(known ? 204 : 404)
  })
  return app
}
