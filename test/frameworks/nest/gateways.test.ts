import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { register } from 'node:module'
import { Worker } from 'node:worker_threads'
import { UseInterceptors } from '@nestjs/common'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { fixedWindow, RateLimiter, type RequestDecision } from 'headgate'
import {
  RateLimit,
  RateLimitDecision,
  RateLimitInterceptor,
  RateLimitModule,
  type RateLimitModuleOptions,
  requestOf,
  SkipRateLimit,
} from 'headgate/nest'
import { io, type Socket } from 'socket.io-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import WebSocket from 'ws'
import { everywhere, type Platform, platforms, start, storeAt } from '../support/nest.ts'

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say')
  say(@MessageBody() text: string, @RateLimitDecision() decision: RequestDecision) {
    return { event: 'said', data: { text, remaining: decision.remaining } }
  }

  @RateLimit('1/1m fixed-window')
  @SubscribeMessage('shout')
  shout() {
    return { event: 'said', data: 'HEY' }
  }

  @SkipRateLimit()
  @SubscribeMessage('ping')
  ping() {
    return { event: 'said', data: 'pong' }
  }
}

function chat(platform: Platform, limit: RateLimitModuleOptions, providers: unknown[] = [Chat, everywhere]) {
  return start(
    platform,
    { imports: [RateLimitModule.forRoot(limit)], providers: providers as [] },
    { prepare: (app) => app.useWebSocketAdapter(new IoAdapter(app)) },
  )
}

function connect(url: string, options: object = {}): Socket {
  const socket = io(url, { transports: ['websocket'], forceNew: true, ...options })
  onTestFinished(() => void socket.close())
  return socket
}

/** Sends a message and waits for its answer: the data of `said`, or what `exception` says. */
function send(socket: Socket, event: string, data?: unknown): Promise<unknown> {
  return new Promise((resolve) => {
    const answered = (answer: unknown) => {
      socket.off('said', answered)
      socket.off('exception', answered)
      resolve(answer)
    }
    socket.on('said', answered)
    socket.on('exception', answered)
    socket.emit(event, data)
  })
}

test('a message whose client disconnects while its handler runs counts, and its unit in flight is free', async () => {
  const ends: (() => void)[] = []

  @UseInterceptors(RateLimitInterceptor)
  @WebSocketGateway()
  class Slow {
    @SubscribeMessage('say')
    say() {
      return new Promise<void>((resolve) => void ends.push(resolve))
    }
  }

  const limiter = new RateLimiter({ policies: ['9/1h fixed-window', '2 at once'] })
  const { url } = await chat('Express', { limiter, count: 'failures' }, [Slow, everywhere])
  const used = async () => (await limiter.peek('127.0.0.1')).policies.map((policy) => policy.used)
  const socket = connect(url)
  for (let n = 0; n < 2; n++) socket.emit('say')
  await vi.waitFor(async () => expect(await used()).toEqual([2, 2]))
  expect(ends).toHaveLength(2)
  socket.close()
  await vi.waitFor(async () => expect(await used()).toEqual([2, 0]))
  for (const end of ends) end()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await used()).toEqual([2, 0])
})

test('with settle, a message whose client has left before the decision gets its estimate back, and is not handled', async () => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const decided = vi.fn()
  const say = vi.fn()

  @UseInterceptors(RateLimitInterceptor)
  @WebSocketGateway()
  class Priced {
    @SubscribeMessage('say')
    say() {
      say()
    }
  }

  const limiter = new RateLimiter({ policies: '90/1h fixed-window' })
  const keys = async () => {
    decided()
    await gate
    return 'k'
  }
  const { url } = await chat('Express', { limiter, keys, cost: 50, settle: true }, [Priced, everywhere])
  const socket = connect(url)
  socket.emit('say')
  await vi.waitFor(() => expect(decided).toHaveBeenCalledTimes(1))
  socket.close()
  await new Promise((resolve) => setTimeout(resolve, 100)) // the server notices that its client has left
  open()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([say.mock.calls.length, (await limiter.peek('k')).remaining]).toEqual([0, 90])
})

describe.each(platforms)('socket.io on %s', (platform) => {
  test('a message over the limit is an exception with the wait; no gateway is subclassed', async () => {
    const { clock, store } = storeAt()
    const { url } = await chat(platform, { policies: fixedWindow({ limit: 2, window: '1m' }), store })
    const socket = connect(url)
    expect(await send(socket, 'say', 'a')).toEqual({ text: 'a', remaining: 1 })
    expect(await send(socket, 'say', 'b')).toEqual({ text: 'b', remaining: 0 })
    clock.advance('10s')
    expect(await send(socket, 'say', 'c')).toEqual({
      status: 'error',
      statusCode: 429,
      error: 'too_many_requests',
      message: 'Too many requests. Try again in 50 seconds.',
      policy: '1m',
      retryAfter: 50,
    })
    // Another connection from the same address has the same quota.
    expect(await send(connect(url), 'say', 'd')).toMatchObject({ statusCode: 429 })
    expect(await send(socket, 'ping')).toBe('pong')
    clock.advance('50s')
    expect(await send(socket, 'say', 'e')).toEqual({ text: 'e', remaining: 1 })
  })

  test('a decorated handler is limited without a global guard, and only it', async () => {
    const { url } = await chat(platform, { limit: false }, [Chat])
    const socket = connect(url)
    expect(await send(socket, 'shout')).toBe('HEY')
    expect(await send(socket, 'shout')).toMatchObject({ status: 'error', statusCode: 429 })
    expect(await send(socket, 'ping')).toBe('pong')
  })

  test('forged X-Forwarded-For of a handshake is never believed; its request gives a key', async () => {
    const { url } = await chat(platform, '1/1m')
    const from = (address: string) => connect(url, { extraHeaders: { 'x-forwarded-for': address } })
    expect(await send(from('203.0.113.1'), 'say', 'a')).toMatchObject({ remaining: 0 })
    expect(await send(from('203.0.113.2'), 'say', 'a')).toMatchObject({ statusCode: 429 })
    const keyed = await chat(platform, {
      limit: 1,
      window: '1m',
      keys: (context) => requestOf(context)?.headers['x-user']?.toString(),
    })
    const user = (name: string) => connect(keyed.url, { extraHeaders: { 'x-user': name } })
    expect(await send(user('ann'), 'say', 'a')).toMatchObject({ remaining: 0 })
    expect(await send(user('bob'), 'say', 'a')).toMatchObject({ remaining: 0 })
    expect(await send(user('ann'), 'say', 'a')).toMatchObject({ statusCode: 429 })
  })

  test('a socket that began with polling keeps its address', async () => {
    const { url } = await chat(platform, '2/1m')
    const socket = connect(url, { transports: ['polling', 'websocket'] })
    await new Promise<void>((resolve) => socket.io.on('open', () => socket.io.engine.once('upgrade', () => resolve())))
    expect(await send(socket, 'say', 'a')).toMatchObject({ remaining: 1 })
    expect(await send(connect(url), 'say', 'a')).toMatchObject({ remaining: 0 })
  })
})

test('the adapter of ws: a message over the limit is an exception', async () => {
  const { port } = await start(
    'Express',
    { imports: [RateLimitModule.forRoot('1/1m fixed-window')], providers: [Chat, everywhere] },
    { prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)) },
  )
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  onTestFinished(() => socket.close())
  await new Promise((resolve) => socket.once('open', resolve))
  const say = () => {
    socket.send(JSON.stringify({ event: 'say', data: 'a' }))
    return new Promise((resolve) => socket.once('message', (message) => resolve(JSON.parse(String(message)))))
  }
  expect(await say()).toEqual({ event: 'said', data: { text: 'a', remaining: 0 } })
  expect(await say()).toMatchObject({ event: 'exception', data: { status: 'error', statusCode: 429 } })
})

describe.each([
  ['socket.io', IoAdapter],
  ['ws', WsAdapter],
])('messages of one packet, over %s', (library, Adapter) => {
  const seen: string[] = []

  async function order(text: string, decision: RequestDecision) {
    seen.push(`${text} ${decision.remaining} of ${decision.limit}`)
    await decision.settle(1)
  }

  @RateLimit({ policies: '10/1h fixed-window', cost: 2, settle: true })
  @WebSocketGateway()
  class Till {
    @SubscribeMessage('order')
    order(@MessageBody() text: string, @RateLimitDecision() decision: RequestDecision) {
      return order(text, decision)
    }
  }

  @RateLimit({ policies: '100/1h fixed-window', cost: 2, settle: true })
  @WebSocketGateway()
  class Audit {
    @SubscribeMessage('order')
    order(@MessageBody() text: string, @RateLimitDecision() decision: RequestDecision) {
      return order(text, decision)
    }
  }

  test('each call has its own decision, and settles its own cost', async () => {
    const { url } = await start(
      'Express',
      { imports: [RateLimitModule.forRoot({ limit: false, store: storeAt().store })], providers: [Till, Audit] },
      { prepare: (app) => app.useWebSocketAdapter(new Adapter(app)) },
    )
    const send = await packets(library, url)
    for (const text of ['a', 'b', 'c']) send('order', text)
    await vi.waitFor(() => expect(seen).toHaveLength(6))
    expect(seen.toSorted()).toEqual([
      'a 8 of 10',
      'a 98 of 100',
      'b 6 of 10',
      'b 96 of 100',
      'c 4 of 10',
      'c 94 of 100',
    ])
    seen.length = 0
    send('order', 'd')
    await vi.waitFor(() => expect(seen.toSorted()).toEqual(['d 5 of 10', 'd 95 of 100']))
  })
})

/** Connects, and returns a function that sends messages: those of one turn are in one packet. */
async function packets(library: string, url: string): Promise<(event: string, data: string) => void> {
  if (library === 'socket.io') {
    const client = connect(url)
    await new Promise<void>((resolve) => client.on('connect', resolve))
    return (event, data) => client.emit(event, data)
  }
  const socket = new WebSocket(url.replace('http', 'ws'))
  onTestFinished(() => socket.close())
  await new Promise((resolve) => socket.once('open', resolve))
  return (event, data) => socket.send(JSON.stringify({ event, data }))
}

test('a client of socket.io that reads none of its exceptions is disconnected', async () => {
  let client: { disconnected: boolean; conn: { writeBuffer: object[] } } | undefined

  @WebSocketGateway()
  class Unread {
    handleConnection(connected: typeof client) {
      client = connected
    }

    @SubscribeMessage('say')
    say() {}
  }

  const { url } = await chat('Express', { policies: '1/1h fixed-window' }, [Unread, everywhere])
  const at = `${url}/socket.io/?EIO=4&transport=polling`
  const post = (sid: string, body: string) => fetch(`${at}&sid=${sid}`, { method: 'POST', body })
  const { sid } = JSON.parse((await (await fetch(at)).text()).slice(1)) as { sid: string }
  await post(sid, '40')
  const messages = Array.from({ length: 600 }, () => '42["say"]').join('\x1e')
  for (let n = 0; n < 8; n++) await post(sid, messages)
  expect(client?.disconnected).toBe(true)
  expect(client?.conn.writeBuffer.length).toBeLessThan(1800)
})

test('a client of ws that reads none of its exceptions is disconnected', async () => {
  let client: { readyState: number; bufferedAmount: number } | undefined

  @WebSocketGateway()
  class Unread {
    handleConnection(connected: typeof client) {
      client = connected
    }

    @SubscribeMessage('say')
    say() {}
  }

  const { url } = await start(
    'Express',
    {
      imports: [RateLimitModule.forRoot({ policies: '1/1h fixed-window' })],
      providers: [Unread, everywhere as never],
    },
    { prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)) },
  )
  const socket = new WebSocket(url.replace('http', 'ws'))
  onTestFinished(() => socket.terminate())
  await new Promise((resolve) => socket.once('open', resolve))
  socket.on('error', () => {})
  socket.pause()
  const message = JSON.stringify({ event: 'say' })
  let most = 0
  for (let n = 0; n < 300_000 && client?.readyState !== WebSocket.CLOSED; n++) {
    socket.send(message)
    most = Math.max(most, client?.bufferedAmount ?? 0)
    if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await vi.waitFor(() => expect(client?.readyState).toBe(WebSocket.CLOSED))
  expect(most).toBeLessThan(5_000_000)
})

test.each([
  ['ws', WsAdapter],
  ['socket.io', IoAdapter],
])('%s: a client whose messages wait for a slow store is disconnected', async (name, Adapter) => {
  let asked = 0
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  let client: { readyState?: number; disconnected?: boolean } | undefined

  @WebSocketGateway()
  class Slow {
    handleConnection(connected: typeof client) {
      client = connected
    }

    @SubscribeMessage('say')
    say() {}
  }

  const options = {
    policies: '5/1h',
    keys: async () => {
      asked++
      await answered
      return 'ann'
    },
  }
  const { url } = await start(
    'Express',
    { imports: [RateLimitModule.forRoot(options)], providers: [Slow, everywhere as never] },
    { prepare: (app) => app.useWebSocketAdapter(new Adapter(app)) },
  )
  if (name === 'ws') {
    const socket = new WebSocket(url.replace('http', 'ws'))
    onTestFinished(() => socket.terminate())
    await new Promise((resolve) => socket.once('open', resolve))
    socket.on('error', () => {})
    for (let n = 0; n < 3000; n++) socket.send(JSON.stringify({ event: 'say' }))
    await vi.waitFor(() => expect(client?.readyState).toBe(WebSocket.CLOSED))
  } else {
    const socket = connect(url, { reconnection: false })
    await new Promise((resolve) => socket.once('connect', () => resolve(undefined)))
    for (let n = 0; n < 3000; n++) socket.emit('say')
    await vi.waitFor(() => expect(client?.disconnected).toBe(true))
  }
  expect(asked).toBe(1000)
  answer()
  await new Promise((resolve) => setTimeout(resolve, 100))
})

test('the exceptions of a flood of messages keep up with its refusals, so that they do not fill the memory', async () => {
  let exceptions = 0
  let refusals = 0
  const most = 20_000

  @WebSocketGateway()
  class Flooded {
    handleConnection(client: { send(...given: unknown[]): void }) {
      const send = client.send.bind(client)
      client.send = (...given) => {
        exceptions++
        send(...given)
      }
    }

    @SubscribeMessage('say')
    say() {}
  }

  // As with a loader of TypeScript or of instrumentation, each import asks another thread.
  const loader = 'export const load = (url, context, next) => next(url, context)'
  register(`data:text/javascript,${loader}`)
  const refused = () => {
    refusals++
    behind = Math.max(behind, refusals - exceptions)
  }
  let behind = 0
  subscribe('headgate:refused', refused)
  onTestFinished(() => void unsubscribe('headgate:refused', refused))
  const { url } = await start(
    'Express',
    {
      imports: [RateLimitModule.forRoot({ policies: '1/1h fixed-window' })],
      providers: [Flooded, everywhere as never],
    },
    { prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)) },
  )
  const flood = new Worker(
    `const { workerData } = require('node:worker_threads')
    const socket = new (require('ws'))(workerData)
    const message = JSON.stringify({ event: 'say' })
    socket.on('open', () => { for (let n = 0; n <= ${most}; n++) socket.send(message) })`,
    { eval: true, workerData: url.replace('http', 'ws') },
  )
  onTestFinished(async () => void (await flood.terminate()))
  await vi.waitFor(() => expect(exceptions).toBe(most), { timeout: 20_000 })
  expect([refusals, behind < most / 2]).toEqual([most, true])
})
