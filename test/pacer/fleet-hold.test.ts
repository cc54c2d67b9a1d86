import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

/* Three processes send webhooks to two hosts, by examples/webhooks/app.mjs. One host refuses for a while. */

const worker = new URL('../support/webhook-worker.mjs', import.meta.url)
const redis = await useServer(startRedis())
const outage = 1500

interface Arrival {
  at: number
  refused: boolean
  id: string
}

/** A customer's server, which can refuse all requests for a while from the fourth request on. */
function customer(refuses: boolean) {
  const arrivals: Arrival[] = []
  let until = Infinity
  const server = createServer((request, response) => {
    const at = performance.now()
    if (refuses && arrivals.length === 3) until = at + outage
    const refused = refuses && arrivals.length >= 3 && at < until
    arrivals.push({ at, refused, id: String(request.headers['idempotency-key']) })
    const wait = { 'Retry-After-Ms': Math.ceil(until - at) }
    request.resume().on('end', () => response.writeHead(refused ? 429 : 200, refused ? wait : {}).end())
  })
  return { server, arrivals }
}

const [busy, quiet] = [customer(true), customer(false)]
const servers = [busy.server, quiet.server]
beforeAll(async () => {
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections()
})

test('once a host has refused a process, no process calls that host until the hold ends, and others go on', async () => {
  const urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`)
  const children = ['one', 'two', 'three'].map((name) =>
    fork(worker, [JSON.stringify({ port: redis.port, name, urls, count: 5 })]),
  )
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map((child) => once(child, 'message'))
  for (const child of children) child.send('go')
  const statuses = (await Promise.all(results)).flatMap(([result]) => result as number[])
  expect(statuses).toEqual(Array(30).fill(200))

  for (const { arrivals } of [busy, quiet]) {
    const delivered = arrivals.filter(({ refused }) => !refused).map(({ id }) => id)
    expect(new Set(delivered).size).toBe(15)
    expect(delivered.length).toBe(15)
  }
  // The slots of all processes together are 100 ms apart, so the next two belong to other processes, and were booked long before.
  const refused = busy.arrivals.filter(({ refused }) => refused).map(({ at }) => at)
  expect(refused.filter((at) => at - (refused[0] as number) > 80)).toEqual([])
  const [first] = quiet.arrivals
  expect((quiet.arrivals.at(-1)?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(outage + 1000)
}, 60_000)
