/*
 * A real Express server whose clients disconnect at any moment. One route refuses, another delays requests. The handler
 * counts what each key is admitted, which is never more than burst + rate * time.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { byHeader, memoryStore, tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

const rate = 5
const burst = 5
const clients = 6
const policies = tokenBucket({ limit: rate, window: '1s', burst })

export async function http({ until, random }) {
  const counts = { requests: 0, admitted: 0, gone: 0 }
  const admitted = new Map()
  const respond = (request, response) => {
    const who = `${request.path} ${request.get('x-key')}`
    admitted.set(who, (admitted.get(who) ?? 0) + 1)
    counts.admitted++
    response.end('ok')
  }
  const options = { policies, keys: byHeader('x-key') }
  const app = express()
  app.get('/', rateLimit({ ...options, store: memoryStore() }), respond)
  app.get('/held', rateLimit({ ...options, store: memoryStore(), delay: { max: '300ms', queue: 50 } }), respond)
  const began = performance.now()
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })

  /** @returns {Promise<void>} */
  const call = (path, key) =>
    new Promise((resolve) => {
      const headers = { 'x-key': key }
      const sent = request({ agent, port, host: '127.0.0.1', path, headers }, (response) => {
        counts[response.statusCode] = (counts[response.statusCode] ?? 0) + 1
        response.resume().once('close', resolve).once('error', resolve)
      })
      sent.once('error', () => {
        counts.gone++
        resolve()
      })
      sent.end()
      if (random.chance(0.1)) setTimeout(() => sent.destroy(), random.below(30))
    })
  const client = async () => {
    while (performance.now() < until) {
      counts.requests++
      await call(random.pick(['/', '/held']), `${random.below(10)}`)
      await sleep(random.below(10))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))

  agent.destroy()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  const most = burst + (rate * (performance.now() - began)) / 1000
  for (const [who, count] of admitted) if (count > most) throw new Error(`${who}: ${count} admitted, at most ${most}`)
  return { ...counts, mostOfOneKey: Math.max(...admitted.values()), bound: Math.floor(most) }
}
