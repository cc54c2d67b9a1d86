/*
 * A real Express server with a limiter for each choice, all on one Redis. autocannon loads it from another process. The
 * outcome of every request is recorded when it is decided.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { Redis } from 'ioredis'
import { rateLimit } from '../../adapters/express.ts'
import { fixedWindow, RateLimiter, type StoreErrorAction } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { watchLag } from './lag.ts'

export const choices: readonly StoreErrorAction[] = ['closed', 'open', 'local']
export const limit = 50
/** More than the default: on a busy machine, a healthy Redis may take longer than 100 ms. */
export const timeout = 300

/** The outcomes of the requests of one choice. */
interface Seen {
  /** How many, by status and source: '200 fallback'. */
  readonly answers: Record<string, number>
  /** The longest time that the limiter took for a request, in milliseconds, without the lag of the event loop. */
  slowest: number
}

export interface LoadedApp {
  readonly client: Redis
  readonly limiters: Readonly<Record<StoreErrorAction, RateLimiter>>
  /** The outcomes since the last call of this function. */
  seen(): Record<StoreErrorAction, Seen>
  get(choice: StoreErrorAction, key?: string): Promise<Response>
  /** Sends so many requests to each of the three, at most 200 a second. */
  load(each: number): Promise<{ statusCodeStats: Record<string, { count: number }>; errors: number }>
  close(): Promise<void>
}

const worker = new URL('./load-worker.mjs', import.meta.url)
let apps = 0

export async function startApp(port: number, options: object = {}): Promise<LoadedApp> {
  const client = new Redis(port, { retryStrategy: () => 20, ...options })
  client.on('error', () => undefined)
  const { lag, stop } = watchLag()
  const app = express()
  const name = `faults-${apps++}`
  let seen = blank()
  const limiters = {} as Record<StoreErrorAction, RateLimiter>
  for (const choice of choices) {
    // A store for each, because each store has a breaker.
    const store = redisStore({ client, timeout })
    const policies = fixedWindow({ limit, window: '1d', align: 'first-request' })
    const limiter = new RateLimiter({ name: `${name}-${choice}`, policies, store })
    limiters[choice] = limiter
    const middleware = rateLimit(limiter, { keys: (request) => request.get('x-key') ?? 'k', onStoreError: choice })
    app.get(`/${choice}`, (request, response, next) => {
      const began = performance.now()
      const lagged = lag()
      const mine = seen[choice]
      let decided = false
      const decide = () => {
        if (!decided) mine.slowest = Math.max(mine.slowest, performance.now() - began - (lag() - lagged))
        decided = true
      }
      response.on('finish', () => {
        decide()
        if (request.get('x-key') !== undefined) return
        const answer = `${response.statusCode} ${request.rateLimit?.source ?? 'none'}`
        mine.answers[answer] = (mine.answers[answer] ?? 0) + 1
      })
      middleware(request, response, (error) => {
        decide()
        next(error)
      })
    })
    app.get(`/${choice}`, (_request, response) => void response.send('ok'))
  }
  const server: Server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    client,
    limiters,
    seen() {
      const all = seen
      seen = blank()
      return all
    },
    get: (choice, key) => fetch(`${url}/${choice}`, key === undefined ? {} : { headers: { 'x-key': key } }),
    async load(each) {
      const requests = choices.map((choice) => ({ path: `/${choice}` }))
      const amount = each * choices.length
      const task = { url, requests, amount, connections: 30, overallRate: 600, timeout: 10 }
      const child = fork(worker, [JSON.stringify(task)])
      const [result] = await once(child, 'message')
      return result
    },
    async close() {
      stop()
      client.disconnect()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function blank(): Record<StoreErrorAction, Seen> {
  return Object.fromEntries(choices.map((choice) => [choice, { answers: {}, slowest: 0 }])) as Record<
    StoreErrorAction,
    Seen
  >
}
