import { once } from 'node:events'
import { createServer as createHttp1, Server as Http1Server, IncomingMessage, ServerResponse } from 'node:http'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer as createHttp2,
  type Http2Server,
  type Http2ServerResponse,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import fastify from 'fastify'
import Koa from 'koa'
import { afterEach, describe, expect, test } from 'vitest'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { type EndingResponse, whenEnded } from '../../src/http.ts'
import { RateLimiter } from '../../src/index.ts'
import { signal, until } from '../support/contract.ts'

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

async function listen(server: Http1Server | Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.close()
    if (server instanceof Http1Server) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

function dial(port: number, settings = {}): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings })
  session.on('error', () => undefined)
  closers.push(() => session.destroy())
  return session
}

/** Starts an app over HTTP/2 that checks a password: it counts the check, waits, and answers with the status. */
type StartLogin = (limit: object, check: () => Promise<number>) => Promise<number>

const logins: Record<string, StartLogin> = {
  async Fastify(limit, check) {
    const app = fastify({ http2: true })
    await app.register(forFastify(limit as never))
    app.route({
      method: ['GET', 'POST'],
      url: '/',
      handler: async (_request, reply) => reply.code(await check()).send(''),
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    closers.push(() => void app.close())
    return (app.server.address() as AddressInfo).port
  },
  async Koa(limit, check) {
    const app = new Koa()
    app.silent = true
    app.use(forKoa(limit as never))
    app.use(async (context) => {
      context.status = await check()
      context.body = ''
    })
    return listen(createHttp2(app.callback() as never))
  },
}

describe.each(Object.entries(logins))('%s over HTTP/2', (_name, start) => {
  test.each([
    ['failures', 401, 'POST', NGHTTP2_CANCEL],
    ['failures', 401, 'POST', NGHTTP2_NO_ERROR],
    ['failures', 401, 'HEAD', NGHTTP2_CANCEL],
    ['successes', 200, 'POST', NGHTTP2_CANCEL],
  ] as const)('count %s: a reset gives no free attempt (%i %s, code %i)', async (count, status, method, code) => {
    let checked = 0
    const release = signal()
    const port = await start({ policies: '5/1h', count }, async () => {
      checked++
      await release.promise
      return status
    })
    const session = dial(port)
    for (let n = 0; n < 12; n++) {
      const stream = session.request({ ':method': method, ':path': '/' }, { endStream: true })
      stream.on('error', () => undefined)
      stream.resume()
      let refused = false
      stream.on('response', () => {
        refused = true
      })
      const before = checked
      await until(() => checked > before || refused)
      stream.close(code)
      await until(() => stream.destroyed)
    }
    expect(checked).toBe(5)
    release.give()
  })

  test.each(['failures', 'successes', () => false] as const)(
    'count %s: a POST with status 304 counts, because a plugin for ETags may have replaced a failure',
    async (count) => {
      const port = await start({ policies: '5/1h', count }, async () => 304)
      const session = dial(port)
      const ask = async (method: string) => {
        const stream = session.request({ ':method': method, ':path': '/' }, { endStream: true }).resume()
        const [{ ':status': status }] = await once(stream, 'response')
        await once(stream, 'close')
        return status
      }
      const seen: unknown[] = []
      for (const method of ['GET', 'HEAD', ...Array.from({ length: 6 }, () => 'POST')]) seen.push(await ask(method))
      expect(seen).toEqual([304, 304, 304, 304, 304, ...(count === 'successes' ? [429, 429, 429] : [304, 304, 429])])
    },
  )

  test.each([{}, { settle: true }, { count: 'failures' }, { enforce: 0 }])(
    'units in flight are free after a reset, a response and a lost session: %j',
    async (options) => {
      const limiter = new RateLimiter({ policies: '3 at once' })
      const left = async () => (await limiter.peek('k')).remaining
      const untilLeft = async (units: number) => {
        while ((await left()) !== units) await new Promise((resolve) => setImmediate(resolve))
      }
      let checked = 0
      const release = signal()
      const port = await start({ limiter, keys: () => 'k', ...options }, async () => {
        checked++
        await release.promise
        return 200
      })
      const [session, lost] = [dial(port), dial(port)]
      const send = (from: ClientHttp2Session, method: string) =>
        from
          .request({ ':method': method, ':path': '/' }, { endStream: true })
          .on('error', () => undefined)
          .resume()
      const reset = send(session, 'POST')
      const answered = send(session, 'HEAD')
      send(lost, 'GET')
      await until(() => checked === 3)
      expect(await left()).toBe(0)
      reset.close(NGHTTP2_CANCEL)
      await untilLeft(1)
      lost.destroy()
      await untilLeft(2)
      const closed = once(answered, 'close')
      release.give()
      await closed
      await untilLeft(3)
    },
  )

  test('a request whose response arrives counts by its status, HEAD too', async () => {
    for (const method of ['GET', 'HEAD']) {
      let checked = 0
      const port = await start({ policies: '5/1h', count: 'failures' }, async () => (++checked % 2 === 0 ? 200 : 401))
      const session = dial(port)
      const statuses: unknown[] = []
      for (let n = 0; n < 11; n++) {
        const stream = session.request({ ':method': method, ':path': '/' })
        stream.resume()
        stream.on('response', (headers) => void statuses.push(headers[':status']))
        await once(stream, 'close')
      }
      expect(statuses).toEqual([401, 200, 401, 200, 401, 200, 401, 200, 401, 429, 429])
    }
  })
})

test('Koa over HTTP/2: a client that resets before it is limited is not admitted, and nothing throws', async () => {
  let handled = 0
  const errors: unknown[] = []
  const begun = signal()
  const app = new Koa()
  app.on('error', (error) => void errors.push(error))
  app.use(async ({ res }, next) => {
    begun.give()
    await once((res as never as Http2ServerResponse).stream, 'close')
    await next()
    checked.give()
  })
  const checked = signal()
  app.use(forKoa('5/1h'))
  app.use(() => void handled++)
  const stream = dial(await listen(createHttp2(app.callback() as never))).request()
  stream.on('error', () => undefined)
  await begun.promise
  stream.close(NGHTTP2_CANCEL)
  await checked.promise
  expect([handled, errors]).toEqual([0, []])
})

describe('what whenEnded says', () => {
  /** A server that records how its responses ended; the handler gets each of them. */
  async function record(version: 1 | 2, handle: (response: Http2ServerResponse) => void) {
    const ends: string[] = []
    const listener = (_request: unknown, response: unknown) => {
      whenEnded(
        response as EndingResponse,
        (status, aborted) => void ends.push(`${status}${aborted ? ' aborted' : ''}`),
      )
      handle(response as Http2ServerResponse)
    }
    const port = await listen(version === 1 ? createHttp1(listener) : createHttp2(listener))
    return { port, ends }
  }

  const answer = (response: Http2ServerResponse) => {
    response.statusCode = 401
    response.end('no')
  }

  test('of a finished response: its status; and of one that had ended before', async () => {
    for (const version of [1, 2] as const) {
      let late = ''
      const { port, ends } = await record(version, (response) => {
        answer(response)
        ;(version === 1 ? response : response.stream).once('close', () =>
          whenEnded(response, (status, aborted) => {
            late = `${status} ${aborted}`
          }),
        )
      })
      if (version === 1) await fetch(`http://127.0.0.1:${port}`).then((response) => response.text())
      else await once(dial(port).request().resume(), 'close')
      await until(() => late !== '')
      expect([ends, late]).toEqual([['401'], '401 false'])
    }
  })

  test.each<[string, number | undefined, number, string]>([
    ['has the whole body', 5, 200, '200'],
    ['has a part of the body', 6, 200, '200 aborted'],
    ['has a body of unknown length', undefined, 200, '200 aborted'],
    ['has the whole body of a failure', 5, 401, '401'],
  ])('of a response that is not ended when its client closes, which %s', async (_, length, status, end) => {
    const unended = (response: Http2ServerResponse) => {
      response.statusCode = status
      if (length !== undefined) response.setHeader('Content-Length', length)
      response.write('hello')
    }
    const once = await record(1, unended)
    const twice = await record(1, (response) => {
      if (twice.ends.length === 0) response.end('first')
      else unended(response)
    })
    for (const { port } of [once, twice]) {
      const ask = () => client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      const client = connectTcp(port, '127.0.0.1').on('data', (chunk) => {
        if (`${chunk}`.includes('hello')) client.destroy()
        else if (`${chunk}`.includes('first')) ask()
      })
      ask()
    }
    await until(() => once.ends.length === 1 && twice.ends.length === 2)
    expect([once.ends, twice.ends]).toEqual([[end], ['200', end]])
  })

  test('of a response whose status was changed after it was sent: the status that was sent', async () => {
    for (const version of [1, 2] as const) {
      let sent: Http2ServerResponse | undefined
      const { port, ends } = await record(version, (response) => {
        sent = response
        answer(response)
        response.statusCode = 500
      })
      if (version === 1) await fetch(`http://127.0.0.1:${port}`).then((response) => response.text())
      else await once(dial(port).request().resume(), 'close')
      await until(() => ends.length > 0)
      expect([ends, sent?.statusCode]).toEqual([['401'], 401])
    }
  })

  test.each([
    ['a failure that other code replaced by status 304: aborted', [401, 304], '304 aborted'],
    ['a failure of which other code sends a part by status 206: aborted', [401, 206], '206 aborted'],
    ['a page for status 404 of which other code sends a part: aborted', [404, 206], '206 aborted'],
    ['a part of a file', [200, 206], '206'],
    ['a failure that became a part and then status 304: aborted', [401, 206, 304], '304 aborted'],
    ['a page for status 404 that became a part and then status 304: aborted', [404, 206, 304], '304 aborted'],
    ['a part of a file that the client has', [404, 200, 206, 304], '304'],
    ['a failure with two conditions: aborted', [403, 412, 304, 304], '304 aborted'],
    ['a failure that a condition of the client has replaced: aborted', [401, 412], '412 aborted'],
    ['a condition that failed', [200, 412], '412'],
    ['a failure after another failure', [401, 500], '500'],
    ['an error of Koa', [404, 500], '500'],
    ['an error after a success', [200, 500], '500'],
    ['a failure after which the application set another status', [401, 200, 304], '304'],
    ['a response of Koa, which begins each with status 404', [404, 304], '304'],
    ['a page that the client has', [200, 304], '304'],
    ['a status 304 that the handler chose', [304], '304'],
    ['a failure', [401], '401'],
  ])('of %s', async (_what, statuses, end) => {
    for (const version of [1, 2] as const) {
      const others: string[] = []
      const seen: number[] = []
      const { port, ends } = await record(version, (response) => {
        whenEnded(response, (status, aborted) => void others.push(`${status}${aborted ? ' aborted' : ''}`))
        for (const status of statuses) {
          response.statusCode = status
          seen.push(response.statusCode)
        }
        response.end()
      })
      const headers: Record<string, string> = statuses.includes(206)
        ? { range: 'bytes=0-' }
        : { [statuses.includes(412) ? 'if-match' : 'if-none-match']: '"1"' }
      if (version === 1) expect((await fetch(`http://127.0.0.1:${port}`, { headers })).status).toBe(statuses.at(-1))
      else {
        const [sent] = await once(dial(port).request(headers).resume(), 'response')
        expect(sent[':status']).toBe(statuses.at(-1))
      }
      await until(() => others.length > 0)
      expect([ends, others, seen]).toEqual([[end], [end], statuses])
    }
  })

  const failing = (session: ClientHttp2Session) =>
    new Promise((resolve) => {
      session.request().on('error', resolve)
    })

  test('of an error of the application: aborted', async () => {
    for (const version of [1, 2] as const) {
      const { port, ends } = await record(version, (response) => {
        if (version === 2) response.stream.on('error', () => undefined).destroy(new Error('broken'))
        else response.destroy(new Error('broken'))
      })
      if (version === 1) await fetch(`http://127.0.0.1:${port}`).catch(() => undefined)
      else await failing(dial(port))
      await until(() => ends.length > 0)
      expect(ends).toEqual(['200 aborted'])
    }
  })

  test('of a session that is destroyed: aborted', async () => {
    const { port, ends } = await record(2, () => session.destroy())
    const session = dial(port)
    session.request().on('error', () => undefined)
    await until(() => ends.length > 0)
    expect(ends).toEqual(['200 aborted'])
  })

  test('of a body that the client never took: aborted', async () => {
    const { port, ends } = await record(2, answer)
    const stream = dial(port, { initialWindowSize: 0 }).request()
    stream.on('error', () => undefined).on('response', () => stream.close(NGHTTP2_CANCEL))
    await until(() => ends.length > 0)
    expect(ends).toEqual(['401 aborted'])
  })

  // node:http2 tells nothing about such a stream if nobody has read its request, and keeps it after the connection too.
  test.each([
    ['GET', 'stays'],
    ['GET', 'leaves'],
    ['POST', 'stays'],
    ['POST', 'leaves'],
  ])(
    'of a body that was never taken, and reset without an error: aborted (%s, its client %s)',
    async (method, then) => {
      let answered: Http2ServerResponse | undefined
      const { port, ends } = await record(2, (response) => {
        answered = response.end('H'.repeat(300_000))
      })
      const session = dial(port)
      const stream = session.request({ ':method': method })
      if (method === 'POST') stream.end('unread')
      await once(stream, 'response')
      stream.close(NGHTTP2_NO_ERROR)
      await until(() => answered?.stream.closed === true)
      if (then === 'leaves') session.destroy()
      while (ends.length === 0) await setTimeout(20)
      expect(ends).toEqual(['200 aborted'])
    },
  )

  test('of a response that arrived whole and was reset then: its status', async () => {
    const { port, ends } = await record(2, answer)
    const stream = dial(port).request({ ':method': 'POST' }, { endStream: false })
    stream.write('more follows')
    stream.on('error', () => undefined).on('end', () => stream.close(NGHTTP2_CANCEL))
    stream.resume()
    await until(() => ends.length > 0)
    expect(ends).toEqual(['401'])
  })

  test('of a request that ends and is reset in one packet, and of its response: aborted', async () => {
    const { port, ends } = await record(2, (response) => {
      response.req.resume().on('end', () => response.end('whole'))
    })
    const stream = dial(port).request({ ':method': 'POST' })
    stream.on('error', () => undefined).write('more follows')
    await setTimeout(50)
    stream.close(NGHTTP2_CANCEL) // ends the request first
    await until(() => ends.length > 0)
    expect(ends).toEqual(['200 aborted'])
  })

  test('of a large body that was written at once, to a client that leaves: aborted', async () => {
    const { port, ends } = await record(1, (response) => void response.end(Buffer.alloc(32 << 20)))
    const socket = connectTcp(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'readable')
    socket.resetAndDestroy()
    await until(() => ends.length > 0)
    expect(ends).toEqual(['200 aborted'])
  })

  test('of a large body to a client that resets the connection while it sends a body that nobody reads: aborted', async () => {
    const { port, ends } = await record(1, (response) => void response.end(Buffer.alloc(32 << 20)))
    for (let n = 1; n <= 5; n++) {
      const socket = connectTcp(port, '127.0.0.1').on('error', () => undefined)
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${(2 << 20) + 1}\r\n\r\n`)
      socket.write(Buffer.alloc(2 << 20))
      await once(socket, 'readable')
      await setTimeout(50)
      socket.resetAndDestroy()
      await until(() => ends.length === n)
    }
    expect(ends).toEqual(Array(5).fill('200 aborted'))
  })

  test('of a response to HEAD whose client leaves while the application writes a body: its status', async () => {
    const { port, ends } = await record(1, (response) => (response as never as ServerResponse).flushHeaders())
    const socket = connectTcp(port, '127.0.0.1')
    socket.write('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'readable')
    socket.destroy()
    await until(() => ends.length > 0)
    expect(ends).toEqual(['200'])
  })

  test('of pipelined requests whose client leaves: aborted, each of them', async () => {
    let begun = 0
    const { port, ends } = await record(1, () => void begun++)
    const socket = connectTcp(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(15))
    await until(() => begun === 15)
    socket.destroy()
    await until(() => ends.length === 15)
    expect(new Set(ends)).toEqual(new Set(['200 aborted']))
  })

  test('of pipelined requests whose client stays: their status, and no listener is left behind', async () => {
    const held: Http2ServerResponse[] = []
    const { port, ends } = await record(1, (response) => void held.push(response))
    const socket = connectTcp(port, '127.0.0.1')
    closers.push(() => socket.destroy())
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(15))
    socket.resume()
    await until(() => held.length === 15)
    const server = held[0]?.req.socket
    expect(server?.listenerCount('close')).toBeLessThan(8)
    for (const response of held) answer(response)
    await until(() => ends.length === 15)
    expect(new Set(ends)).toEqual(new Set(['401']))
  })

  test.each([
    ['never had its socket', () => undefined],
    ['had its socket until the handover', handOver],
  ])('of an upgraded connection: aborted, because its response, which %s, was never sent', async (_name, prepare) => {
    const ends: string[] = []
    const server = createHttp1()
    server.on('upgrade', (request, socket) => {
      const response = new ServerResponse(request)
      const handedOver = prepare(response, socket as Socket)
      whenEnded(response, (status, aborted) => void ends.push(`${status} ${aborted}`))
      handedOver?.()
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
      socket.on('data', () => socket.destroy())
    })
    const socket = connectTcp(await listen(server), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    await once(socket, 'data')
    expect(ends).toEqual([])
    socket.write('bye')
    await until(() => ends.length > 0)
    expect(ends).toEqual(['200 true'])
  })
})

test('the end of an inner request whose socket reports nothing, as in Nuxt, is that of its response', () => {
  const response = new ServerResponse(new IncomingMessage({} as Socket))
  const ends: string[] = []
  whenEnded(response, (status, aborted) => void ends.push(`${status} ${aborted}`))
  response.statusCode = 401
  Object.defineProperty(response, 'writableFinished', { value: true })
  response.emit('close') // in Nitro 2, before 'finish'
  response.emit('finish')
  expect(ends).toEqual(['401 false'])
})

/** As a framework does that runs its handlers for the request before the WebSocket takes the connection. */
function handOver(response: ServerResponse, socket: Socket): () => void {
  response.assignSocket(socket)
  return () => response.detachSocket(socket)
}
