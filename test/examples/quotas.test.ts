import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { Store } from 'headgate'
import { sqliteStore } from 'headgate/sqlite'
import { ManualClock } from 'headgate/testing'
import Database from 'libsql'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { createApp } from '../../examples/quotas/app.mjs'
import { send } from '../../examples/quotas/webhook.mjs'
import { headgateWarnings } from '../support/headgate-warnings.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-quotas-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  expect(await headgateWarnings(), 'no false alarm').toEqual([])
})

let files = 0
let closes: (() => void)[]
let clock: ManualClock
let path: string

beforeEach(() => {
  closes = []
  clock = new ManualClock(Date.UTC(2026, 10, 23, 12))
  path = join(folder, `${files++}.db`)
})
afterEach(() => {
  for (const close of closes) close()
})

async function listen(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1')
  closes.push(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function openFile(): Store {
  const database = new Database(path)
  closes.push(() => database.close())
  return sqliteStore({ database, clock: clock.now, synchronous: 'full' })
}

const subscribers = () =>
  new Map(
    [
      { id: 'ann', key: 'key-of-ann', plan: 'free', since: '2026-01-01', timeZone: 'Europe/Berlin' },
      { id: 'bob', key: 'key-of-bob', plan: 'free', since: '2025-05-31T21:30:00Z', timeZone: 'America/New_York' },
      { id: 'cleo', key: 'key-of-cleo', plan: 'unlimited', since: '2026-02-12', timeZone: 'Asia/Kolkata' },
    ].map((customer) => [customer.id, customer]),
  )

async function start(webhook?: string) {
  const url = await listen(createApp({ store: openFile(), webhook: webhook as string, customers: subscribers() }))
  const ask = (id: string, route: string) => fetch(`${url}${route}`, { headers: { 'x-api-key': `key-of-${id}` } })
  return {
    url,
    ask,
    async take(id: string, route: string, times = 1) {
      for (let n = 0; n < times; n++) {
        expect((await ask(id, route)).status).toBe(200)
        clock.advance('1s') // 60 in a minute
      }
    },
    async usage(id: string) {
      const page = await (await fetch(`${url}/customers/${id}`)).text()
      return [...page.matchAll(/<p>(.*)<\/p>/g)].map(([, text]) => text)
    },
    change: (id: string, plan: string) =>
      fetch(`${url}/customers/${id}/plan`, { method: 'POST', body: new URLSearchParams({ plan }), redirect: 'manual' }),
  }
}

test('a report costs 25 units of the month, and one of the minute', async () => {
  const { ask, usage } = await start()
  expect((await ask('ann', '/search')).headers.get('ratelimit')).toBe('"month";r=999;t=644400, "minute";r=59;t=120')
  expect((await ask('ann', '/Report/')).headers.get('ratelimit')).toMatch(/^"month";r=974;.* "minute";r=58;/)
  expect(await usage('ann')).toEqual([
    'Your plan is <strong>free</strong>.',
    '26 of 1,000 used, resets on 1 December',
    '2 of 60 used',
  ])
})

test('each customer has months of its own, which begin at midnight in the time zone of the customer', async () => {
  const { take, usage } = await start()
  for (const id of ['ann', 'bob']) await take(id, '/report', 4)
  expect((await usage('ann'))[1]).toBe('100 of 1,000 used, resets on 1 December')
  expect((await usage('bob'))[1]).toBe('100 of 1,000 used, resets on 30 November')
  clock.set(Date.UTC(2026, 10, 30, 5) - 1) // before midnight in New York
  expect((await usage('bob'))[1]).toBe('100 of 1,000 used, resets on 30 November')
  clock.advance(1)
  expect((await usage('bob'))[1]).toBe('0 of 1,000 used, resets on 31 December')
  clock.set(Date.UTC(2026, 10, 30, 23)) // midnight in Berlin
  expect((await usage('ann'))[1]).toBe('0 of 1,000 used, resets on 1 January')
})

test('the month and the minute refuse, and say when to come back', async () => {
  const { ask, take } = await start()
  for (let n = 0; n < 40; n++) expect((await ask('ann', '/report')).status).toBe(200)
  const refused = await ask('ann', '/search')
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('644400')
  expect(await refused.json()).toMatchObject({ 'violated-policies': ['month'] })
  for (let n = 0; n < 60; n++) expect((await ask('bob', '/search')).status).toBe(200)
  expect(await (await ask('bob', '/search')).json()).toMatchObject({ 'violated-policies': ['minute'] })
  clock.advance('2m')
  await take('bob', '/search')
})

test('an upgrade in mid-month keeps what was used, and so does the way back', async () => {
  const { ask, change, take, usage } = await start()
  await take('ann', '/report', 40)
  expect((await ask('ann', '/search')).status).toBe(429)
  expect((await change('ann', 'pro')).status).toBe(303)
  expect((await usage('ann'))[1]).toBe('1,000 of 50,000 used, resets on 1 December')
  await take('ann', '/report')
  expect((await usage('ann'))[1]).toBe('1,025 of 50,000 used, resets on 1 December')
  await change('ann', 'unlimited')
  await take('ann', '/report')
  expect(await usage('ann')).toEqual(['Your plan is <strong>unlimited</strong>.', 'You have no limits.'])
  await change('ann', 'free')
  expect((await usage('ann'))[1]).toBe('1,000 of 1,000 used, resets on 1 December')
  expect((await ask('ann', '/search')).status).toBe(429)
  expect((await change('ann', 'toString')).status).toBe(400)
})

test('a request without a known key is not admitted, and a stranger has no page', async () => {
  const { ask, url, change } = await start()
  expect((await ask('nobody', '/search')).status).toBe(401)
  expect((await fetch(`${url}/customers/nobody`)).status).toBe(404)
  expect((await change('nobody', 'pro')).status).toBe(404)
})

test('the webhook gets one event for each threshold of the month', async () => {
  const events: object[] = []
  const webhook = await listen(async (request, response) => {
    events.push((await json(request)) as object)
    response.end()
  })
  const { take, ask } = await start(webhook)
  await take('ann', '/report', 31)
  expect(events).toEqual([])
  await take('ann', '/report', 9)
  expect((await ask('ann', '/report')).status).toBe(429)
  const resets = '2026-11-30T23:00:00.000Z'
  const told = (percent: number, used: number) => ({
    id: `ann month ${percent / 100} ${resets}`,
    ...{ customer: 'ann', percent, used, limit: 1000, resets },
  })
  await expect.poll(() => events).toEqual([told(80, 800), told(100, 1000)])
})

test('a webhook that fails gets the event again, and a request does not wait for it', async () => {
  const ids: unknown[] = []
  const webhook = await listen(async (request, response) => {
    const { id } = (await json(request)) as { id: string }
    response.statusCode = ids.push(id) < 3 ? 503 : 204
    response.end()
  })
  const event = { limiter: 'api', policy: 'month', key: 'ann', scope: 'default', threshold: 1, used: 9, limit: 9 }
  await send(webhook, { ...event, resetAt: 0 }, [1, 1])
  expect(ids).toEqual(Array.from({ length: 3 }, () => 'ann month 1 1970-01-01T00:00:00.000Z'))
  ids.splice(0)
  await expect(send(webhook, { ...event, resetAt: 0 }, [1])).rejects.toThrow('did not take')
  const silent = await listen(() => {})
  const { take } = await start(silent)
  await take('ann', '/report', 40)
})
