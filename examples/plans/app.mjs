import express from 'express'
import { byHeader, fixedWindow, tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

/** Which API key has which plan. A real application reads this from its database. */
const planOf = new Map([
  ['key-of-ann', 'pro'],
  ['key-of-bob', 'free'],
])

/** Each plan has a rate and a daily quota. Policies of the same name share their states, so an upgrade keeps what was used. */
const plans = {
  free: policiesOf({ perSecond: 1, perDay: 5 }),
  pro: policiesOf({ perSecond: 10, perDay: 10_000 }),
}

function policiesOf({ perSecond, perDay }) {
  return [
    tokenBucket({ name: 'rate', limit: perSecond, window: '1s', burst: 2 * perSecond }),
    fixedWindow({ name: 'quota', limit: perDay, window: '1d' }),
  ]
}

function leftOf({ policies }) {
  return Object.fromEntries(policies.map(({ name, remaining }) => [name, remaining]))
}

export function createApp() {
  const app = express()
  const limit = rateLimit({
    policies: (request) => plans[planOf.get(request.get('x-api-key'))],
    keys: byHeader('x-api-key'),
    headers: 'draft-11',
  })

  // For operators: what a key has left. The limiter of the middleware looks, and takes nothing.
  app.get('/admin/left/:key', async (request, response) => {
    const { key } = request.params
    if (!planOf.has(key)) response.sendStatus(404)
    else response.json(leftOf(await limit.limiter.withPlan(plans[planOf.get(key)]).peek(key)))
  })

  // Requests without a valid key are refused and limited by address: guessing keys is slow, and slower each time.
  const guesses = rateLimit({
    policies: '10/1h',
    penalty: { after: 5, within: '1h', ban: ['1h', '1d'], status: 403 },
  })
  app.use((request, response, next) => {
    if (planOf.has(request.get('x-api-key'))) return next()
    guesses(request, response, (error) => (error ? next(error) : response.status(401).send('Which key?\n')))
  })

  app.use(limit)

  app.get('/', (request, response) => {
    response.json({ left: leftOf(request.rateLimit) })
  })

  // Changes the plan of a key. What was used today stays used.
  app.post('/plan/:plan', (request, response) => {
    const { plan } = request.params
    const known = Object.hasOwn(plans, plan)
    if (known) planOf.set(request.get('x-api-key'), plan)
    response.sendStatus(known ? 204 : 404)
  })
  return app
}
