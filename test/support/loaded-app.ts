/*
 * A real Express server whose limiters are on one Redis, one for each choice; a load from autocannon in a process of its
 * own; and what came of every request, told as it was decided.
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

export const choices: readonly StoreErrorAction[] = ['deny', 'allow', 'local']
export const limit = 50
/** More than the default: a machine with other work to do may well keep a healthy Redis waiting for 100 ms. */
export const timeout = 300

/** What came of the requests of one choice. */
interface Seen {
  /** How many, by status and by who decided: '200 fallback'. */
  readonly answers: Record<string, number>
  /** The longest that the limiter took for one, in milliseconds, less what the process was kept from it. */
  slowest: number
}

export interface LoadedApp {
  readonly client: Redis
  readonly limiters: Readonly<Record<StoreErrorAction, RateLimiter>>
  /** What came of the requests since this was last asked. */
  seen(): Record<StoreErrorAction, Seen>
  get(choice: StoreErrorAction, key?: string): Promise<Response>
  /** So many requests on each of the three, 200 a second at most. */
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
    // A store each, so that each has a breaker of its own.
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
