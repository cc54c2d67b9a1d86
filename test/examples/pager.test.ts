import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { collect, createApi } from '../../examples/pager/app.mjs'
import { headgateWarnings } from '../support/headgate-warnings.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

/* In real time, 15 pages at 10 in 1.05 s take at least a second, and longer on a busy machine. */
test('the pager reads every page in order, at the pace of the API', async () => {
  const statuses: number[] = []
  const server: Server = createApi({ pages: 15, perSecond: 10 }).listen(0, '127.0.0.1')
  server.on('request', (_, response) => response.on('finish', () => statuses.push(response.statusCode)))
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pages: number[] = []
  const onPage = ({ page }: { page: number }) => void pages.push(page)
  const since = performance.now()
  const { items } = await collect(url, { perSecond: 10, onPage })
  expect(performance.now() - since).toBeGreaterThan(1000)
  expect(items).toEqual(Array.from({ length: 150 }, (_, n) => `item ${n + 1}`))
  expect(pages.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, n) => n + 1))
  // A refused request is sent again. On a machine that stalls there may be one, in spite of the pace.
  expect(statuses.filter((status) => status === 200).length).toBe(15)
  server.close()
  server.closeAllConnections()
})
