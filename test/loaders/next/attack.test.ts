import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { project } from '../support/project.ts'
import { buildAndStart } from './serve.ts'

/* A whole application of Next, with route handlers, a middleware, a server action and the pages API, and clients that attack it. */

const limits = `
import { byIp } from 'headgate'
import { rateLimit } from 'headgate/fetch'

const key = ({ request }: { request: Request }) => new URL(request.url).searchParams.get('key') ?? undefined
export const shared = rateLimit('3/1h', { keys: byIp({ platform: 'nginx' }) })
export const held = rateLimit({ name: 'held', policies: '4 at once lease 1s', keys: key })
export const failures = rateLimit({ name: 'failures', policies: '5/1h', keys: key, count: 'failures' })
export const accounts = rateLimit({ name: 'accounts', policies: '3/1h', keys: () => 'all', count: 'successes' })
const create = () => rateLimit({ name: 'acted', policies: '3/1h', keys: byIp({ platform: 'nginx' }) })
const kept = globalThis as { acted?: ReturnType<typeof create> }
kept.acted ??= create()
export const { acted } = kept
export const runs: Record<string, number> = {}
`

const attacked = `
import { failures, held, runs } from '../../../../lib/limits'

const sleep = (milliseconds: number) => new Promise((wake) => setTimeout(wake, milliseconds))
const handlers: Record<string, () => Response | Promise<Response>> = {
  now: () => new Response('now'),
  wrong: () => new Response('wrong password', { status: 401 }),
  later: () => sleep(300).then(() => new Response('wrong password', { status: 401 })),
  never: () => new Promise(() => undefined),
  large: () => new Response('x'.repeat(8_000_000)),
  slowly: () => new Response(new ReadableStream({ pull: (body) => sleep(50).then(() => body.enqueue(new Uint8Array(10))) })),
}

async function handle(request: Request, { params }: { params: Promise<{ handler: string }> }) {
  const { handler } = await params
  const key = new URL(request.url).searchParams.get('key') as string
  runs[key] = (runs[key] ?? 0) + 1
  return handlers[handler]!()
}

export const GET = held.wrap(handle)
export const POST = failures.wrap(handle)
export async function PUT(request: Request) {
  const key = new URL(request.url).searchParams.get('key') as string
  return Response.json({ free: (await held.limiter.peek(key)).remaining, runs: runs[key] ?? 0 })
}
`

const files = {
  'package.json': { private: true },
  'next.config.js': 'module.exports = { outputFileTracingRoot: __dirname }',
  'lib/limits.ts': limits,
  'app/layout.tsx':
    'export default ({ children }: { children: React.ReactNode }) => <html><body>{children}</body></html>',
  'app/page.tsx': 'export default () => <p>home</p>',
  'app/api/one/route.ts': `
import { shared } from '../../../lib/limits'
export const GET = shared.wrap((request: Request) => Response.json({ left: request.rateLimit?.remaining }))
export const POST = GET
`,
  'app/api/two/route.ts': `export { GET } from '../one/route'`,
  'app/api/attacked/[handler]/route.ts': attacked,
  'app/api/accounts/route.ts': `
import { redirect } from 'next/navigation'
import { accounts } from '../../../lib/limits'
export const POST = accounts.wrap(() => redirect('/welcome'))
`,
  'app/api/acted/route.ts': `
import { acted } from '../../../lib/limits'
export const GET = acted.wrap(() => new Response('admitted'))
`,
  'app/act/page.tsx': `
import { headers } from 'next/headers'
import { acted } from '../../lib/limits'
async function send() {
  'use server'
  const { allowed } = await acted.limiter.consume((await headers()).get('x-real-ip') ?? 'none')
  if (!allowed) throw new Error('refused')
}
export default () => <form action={send}><button>send</button></form>
`,
  'pages/api/old.ts': `
import type { NextApiRequest, NextApiResponse } from 'next'
import { rateLimit } from 'headgate/node'
const limit = rateLimit('3/1h', { trustedProxies: ['127.0.0.1'] })
export default async function handler(request: NextApiRequest, response: NextApiResponse) {
  if (await limit(request, response)) response.send('hello')
}
`,
  'middleware.ts': `
import { type NextRequest, NextResponse } from 'next/server'
import { byIp } from 'headgate'
import { rateLimit } from 'headgate/fetch'
const limit = rateLimit('3/1h', { keys: byIp({ platform: 'nginx' }) })
const failing = rateLimit({ policies: '3/1h', count: 'failures', keys: () => 'all' })
export async function middleware(request: NextRequest) {
  const { pathname } = request.nextUrl
  if (pathname !== '/' && pathname !== '/failing') return NextResponse.next()
  const result = await (pathname === '/' ? limit : failing)(request)
  return result.response ?? result.apply(NextResponse.next())
}
`,
}

test('a whole application limits what it promises to limit', async () => {
  const port = await buildAndStart(project('attacked', files, import.meta.dirname))
  const url = (path: string) => `http://127.0.0.1:${port}${path}`
  const status = async (path: string, headers: Record<string, string>, method = 'GET', body?: FormData) => {
    const response = await fetch(url(path), { method, headers, redirect: 'manual', ...(body && { body }) })
    await response.arrayBuffer()
    return response.status
  }
  const five = async (ask: (n: number) => Promise<number>) => {
    const statuses: number[] = []
    for (let n = 0; n < 5; n++) statuses.push(await ask(n))
    return statuses
  }
  const three = [200, 200, 200, 429, 429]

  // Route handlers: one quota for all routes of a limit, and no field but that of the platform.
  const forged = (n: number) => ({
    'x-real-ip': '203.0.113.9',
    'x-forwarded-for': `198.51.100.${n}`,
    forwarded: `for=10.0.0.${n}`,
  })
  expect(await five((n) => status('/api/one', forged(n)))).toEqual(three)
  expect(await status('/api/two', forged(0))).toBe(429)
  expect(await status('/api/one', forged(0), 'POST')).toBe(429)
  for (const odd of ['x', '1.2.3.4, 5.6.7.8', '999.1.1.1'])
    expect(await status('/api/one', { 'x-real-ip': odd })).toBe(403)

  // A redirect by Next's own function counts as a success.
  expect(await five(() => status('/api/accounts', {}, 'POST'))).toEqual([307, 307, 307, 429, 429])

  // The middleware, also for requests that claim to come from Next itself.
  const home = { 'x-real-ip': '203.0.113.20' }
  expect(await five(() => status('/', home))).toEqual(three)
  for (const own of ['x-middleware-subrequest', 'x-middleware-prefetch', 'x-middleware-next', 'rsc', 'x-nextjs-data']) {
    expect([
      own,
      await status('/', { ...home, [own]: 'middleware:middleware:middleware:middleware:middleware' }),
    ]).toEqual([own, 429])
  }
  expect(await status('/failing', home)).toBe(500) // HEADGATE_NO_END: a middleware sees no end

  // A server action, and the pages API behind a trusted proxy.
  const page = await (await fetch(url('/act'))).text()
  const action = /name="(\$ACTION_ID_[0-9a-f]+)"/.exec(page)?.[1] as string
  const acting = { 'x-real-ip': '203.0.113.30', origin: url('') }
  const form = () => {
    const body = new FormData()
    body.append(action, '')
    return body
  }
  expect(await five(() => status('/act', acting, 'POST', form()))).toEqual([200, 200, 200, 500, 500])
  expect(await status('/api/acted', acting)).toBe(429) // the limit of the action, from globalThis
  expect(await five((n) => status('/api/old', { 'x-forwarded-for': `198.51.100.${n}, 203.0.113.50` }))).toEqual(three)

  // Clients that leave route handlers: units are free afterwards, and failures are counted.
  const leave = async (method: string, path: string, how: 'destroy' | 'resetAndDestroy', after: number, times = 1) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    socket.resume().write(`${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`.repeat(times))
    await sleep(after)
    socket[how]()
  }
  const state = async (key: string): Promise<{ free: number; runs: number }> => {
    return JSON.parse(await (await fetch(url(`/api/attacked/now?key=${key}`), { method: 'PUT' })).text())
  }
  const ways = [
    ['destroy', 0, 1],
    ['resetAndDestroy', 0, 1],
    ['destroy', 200, 1],
    ['resetAndDestroy', 200, 1],
    ['destroy', 200, 8],
  ] as const
  // Of pipelined requests, Next shows only the end of their handlers.
  const ending = (handler: string) =>
    ways.filter(([, , times]) => times === 1 || !['never', 'slowly'].includes(handler))
  const attempts = ['now', 'later', 'never', 'large', 'slowly'].flatMap((handler) => {
    return ending(handler).map((way) => [handler, ...way] as const)
  })
  await Promise.all(
    attempts.map(async ([handler, how, after, times], n) => {
      const path = `/api/attacked/${handler}?key=held${n}`
      await Promise.all(Array.from({ length: 5 }, () => leave('GET', path, how, after, times)))
      const free = async () => [handler, how, after, times, (await state(`held${n}`)).free]
      await expect.poll(free, { timeout: 5000 }).toEqual([handler, how, after, times, 4])
      if (handler !== 'now' && handler !== 'later') return
      const wrong = `/api/attacked/${handler === 'now' ? 'wrong' : handler}?key=wrong${n}`
      for (let tries = 0; tries < 10; tries++) await leave('POST', wrong, how, after, times)
      await sleep(400)
      expect((await state(`wrong${n}`)).runs).toBeLessThanOrEqual(5)
    }),
  )
})
