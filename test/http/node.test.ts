import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type NodeRequest, type NodeResponse, rateLimit } from '../../adapters/node.ts'
import { fixedWindow, RateLimiter } from '../../src/index.ts'
import { signal, stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { serve } from '../support/served-app.ts'

const hourly = (limit: number) => ({ policies: fixedWindow({ limit, window: '1h' }), store: stillStore().store })

const closers: (() => unknown)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

/** Serves HTTP/2 and returns a client's session. */
async function http2(handler: (request: NodeRequest, response: NodeResponse) => void) {
  const server = createHttp2Server(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  session.on('error', () => undefined)
  closers.push(
    () => session.destroy(),
    () => void server.close(),
  )
  return session
}

type Session = Awaited<ReturnType<typeof http2>>

async function ask(session: Session, method = 'GET'): Promise<[status: unknown, left: unknown, body: string]> {
  const stream = session.request({ ':path': '/', ':method': method })
  const [headers] = await once(stream, 'response')
  let body = ''
  for await (const chunk of stream.setEncoding('utf8')) body += chunk
  return [headers[':status'], headers['x-ratelimit-remaining'], body]
}

test('HTTP/2: a client is limited by its address, over all its streams', async () => {
  const limit = rateLimit(hourly(2))
  const session = await http2(async (request, response) => {
    if (await limit(request, response)) response.end(`${request.rateLimit?.remaining}`)
  })
  expect(await ask(session)).toEqual([200, '1', '1'])
  expect(await ask(session, 'HEAD')).toEqual([200, '0', ''])
  expect(await ask(session)).toEqual([429, '0', expect.stringMatching(/^Too many requests/)])
})

test('HTTP/2: a stream that was reset keeps its units, and a sent one is counted by its status', async () => {
  const limiter = new RateLimiter(hourly(9))
  const begun = signal()
  const release = signal()
  const limit = rateLimit({ limiter, keys: () => 'k', count: () => false })
  const session = await http2(async (request, response) => {
    if (!(await limit(request, response))) return
    begun.give()
    await release.promise
    response.end('late')
  })
  const stream = session.request({ ':path': '/' })
  stream.on('error', () => undefined)
  await begun.promise
  stream.close(8)
  await once(stream, 'close')
  release.give()
  await ask(session)
  await until(() => true)
  expect((await limiter.peek('k')).remaining).toBe(8)
})

test.each([false, true])(
  'HTTP/2: a stream that was reset before it is limited breaks nothing; session destroyed: %s',
  async (destroyed) => {
    const limit = rateLimit(hourly(1))
    const seen: unknown[] = []
    const arrived = signal()
    const session = await http2((request, response) => {
      arrived.give()
      ;(response as { stream: NodeJS.EventEmitter }).stream.once('close', () => {
        setImmediate(() =>
          limit(request, response).then(
            (goesOn) => seen.push(goesOn),
            (error) => seen.push(error),
          ),
        )
      })
    })
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => undefined)
    await arrived.promise
    if (destroyed) session.destroy()
    else stream.close(8)
    await until(() => seen.length > 0)
    expect([true, false]).toContain(seen[0])
  },
)

test('without next, a function that throws rejects; with next, it gets the Error', async () => {
  const keys = () => {
    throw undefined
  }
  const limit = rateLimit({ ...hourly(1), keys })
  const seen: unknown[] = []
  const { url, close } = await serve(
    createServer(async (request, response: ServerResponse) => {
      await limit(request, response).catch((error) => seen.push(error.code))
      limit(request, response, (error) => seen.push((error as { code: string }).code))
      response.end()
    }),
  )
  closers.push(close)
  await get(url)
  expect(seen).toEqual(['HEADGATE_THROWN', 'HEADGATE_THROWN'])
})

test.each([{ trustedProxies: 0 }, { trustedProxies: ['nobody'] }, { trustedProxies: null }, { trustProxy: 1 }])(
  '%j is an error',
  (options) => {
    const wrong = expect.objectContaining({ code: 'HEADGATE_OPTION' })
    expect(() => rateLimit('1/1h', options as never)).toThrow(wrong)
    expect(() => rateLimit({ limit: 1, window: '1h', ...options } as never)).toThrow(wrong)
  },
)

test('a refused HEAD gets its fields and no body, also on a server that allows none', async () => {
  const limit = rateLimit(hourly(1), {})
  const server = createServer({ rejectNonStandardBodyWrites: true }, async (request, response) => {
    if (await limit(request, response)) response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await fetch(url, { method: 'HEAD' })
  const refused = await fetch(url, { method: 'HEAD' })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3600'])
  expect(Number(refused.headers.get('content-length'))).toBeGreaterThan(20)
})
