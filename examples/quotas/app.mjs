import express from 'express'
import { rateLimit } from 'headgate/express'
import { calendarOf, monthly, plans } from './plans.mjs'
import { usagePage } from './usage-page.mjs'
import { send } from './webhook.mjs'

/** The customers, by their ids. A real application reads them from its database. */
const examples = new Map(
  [
    { id: 'ann', key: 'key-of-ann', plan: 'free', since: '2026-01-01', timeZone: 'Europe/Berlin' },
    { id: 'bob', key: 'key-of-bob', plan: 'pro', since: '2025-05-31T21:30:00Z', timeZone: 'America/New_York' },
    { id: 'cleo', key: 'key-of-cleo', plan: 'unlimited', since: '2026-02-12', timeZone: 'Asia/Kolkata' },
  ].map((customer) => [customer.id, customer]),
)

/** @param {{ store?: import('headgate').Store, webhook?: string, customers?: typeof examples }} [options] */
export function createApp({ store, webhook, customers = examples } = {}) {
  const app = express().disable('x-powered-by')
  const byKey = new Map([...customers.values()].map((customer) => [customer.key, customer]))
  const customerOf = (request) => byKey.get(request.get('x-api-key'))

  const limit = rateLimit({
    name: 'api',
    policies: (request) => plans[customerOf(request).plan],
    keys: (request) => customerOf(request).id,
    calendar: (request) => calendarOf(customerOf(request)),
    cost: ({ route }) => ({ month: monthly[route.path], minute: 1 }),
    onThreshold: (event) => webhook && send(webhook, event),
    headers: 'draft-11',
    problem: true,
    store,
  })

  // The API. The limit is on each route, so that `cost` knows which route has matched.
  const api = [(request, response, next) => (customerOf(request) ? next() : response.sendStatus(401)), limit]
  app.get('/search', api, (_request, response) => response.json({ found: [] }))
  app.get('/report', api, (_request, response) => response.json({ pages: 12 }))

  // The page of a customer. Put it behind your login: here the id in the path says who it is.
  const account = '/customers/:id'
  app.use(account, ({ params }, response, next) => {
    response.locals.customer = customers.get(params.id)
    response.locals.customer ? next() : response.sendStatus(404)
  })

  app.get(account, async (_request, response) => {
    const { customer } = response.locals
    const limiter = limit.limiter.withPlan(plans[customer.plan])
    const usage = await limiter.usage(customer.id, { calendar: calendarOf(customer) })
    response.send(usagePage(customer, usage))
  })

  app.post(`${account}/plan`, express.urlencoded(), ({ body }, response) => {
    const { customer } = response.locals
    const known = Object.hasOwn(plans, body?.plan)
    if (known) customer.plan = body.plan
    known ? response.redirect(303, `/customers/${customer.id}`) : response.sendStatus(400)
  })
  return app
}
