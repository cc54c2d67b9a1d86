import express, { type Express, type Request } from 'express'
import { memoryStore, type Store } from 'headgate'
import { quota } from 'headgate/calendar'
import { rateLimit } from 'headgate/express'

// Policies of one name share their counts, so a customer who changes the plan keeps what was used.
const plans = {
  guest: '20/1h',
  free: ['60/1m', quota('1000/month')],
  pro: ['600/1m', quota('50000/month')],
}

/** The customers by their API keys. A real application reads them from its database, and keeps them for a while. */
export const customers = new Map<string, { id: string; plan: keyof typeof plans }>([
  ['key-of-ann', { id: 'ann', plan: 'free' }],
  ['key-of-bob', { id: 'bob', plan: 'pro' }],
])
const customerOf = (request: Request) => customers.get(request.get('x-api-key') ?? '')

export function createApp(store: Store = memoryStore()): Express {
  const app = express()
  const limit = rateLimit({
    name: 'api',
    policies: (request) => plans[customerOf(request)?.plan ?? 'guest'],
    keys: (request) => customerOf(request)?.id, // without a key of a customer: by address
    headers: 'draft-11',
    store,
  })

  app.get('/users', limit, (_request, response) => void response.json({ users: [] }))
  app.get('/search', limit.cost(5), (_request, response) => void response.json({ found: [] }))

  app.get('/usage', async (request, response) => {
    const customer = customerOf(request)
    if (customer === undefined) return limit(request, response, () => response.sendStatus(401)) // limits guesses of keys
    const { policies } = await limit.limiter.withPlan(plans[customer.plan]).usage(customer.id)
    response.json(policies.map(({ name, used, limit, end }) => ({ name, used, limit, resets: end && new Date(end) })))
  })
  return app
}
