import { connect as connectTcp, type Socket as TcpSocket } from 'node:net'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  type ModuleMetadata,
  Scope,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import { Field, GraphQLModule, ObjectType, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { EventPattern, MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets'
import { RateLimiter } from 'headgate'
import { RateLimit, RateLimitGuard, RateLimitInterceptor, RateLimitModule, SkipRateLimit } from 'headgate/nest'
import { EMPTY, interval, Observable, of, throwError } from 'rxjs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import WebSocket from 'ws'
import { freePort } from '../../support/ports.ts'
import { everywhere, start } from '../support/nest.ts'

const interceptor = { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }
const noLimit = RateLimitModule.forRoot({ limit: false })
const lease = 400
const pass = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 5 })

type Decorator = ClassDecorator & MethodDecorator
const nothing: Decorator = () => {}

function chat(onMethod: Decorator, onClass: Decorator = nothing) {
  class Chat {
    @onMethod
    @SubscribeMessage('say')
    say() {
      return 'said'
    }
  }
  onClass(Chat)
  WebSocketGateway()(Chat)
  return Chat
}

function sums(onMethod: Decorator, pattern: typeof MessagePattern = MessagePattern) {
  class Sums {
    @onMethod
    @pattern('sum')
    sum() {
      return 1
    }
  }
  Controller()(Sums)
  return Sums
}

function answers(onMethod: Decorator) {
  class Answers {
    @onMethod
    @Query(() => String)
    answer() {
      return 'good'
    }
  }
  Resolver()(Answers)
  return Answers
}

const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({
  driver: ApolloDriver,
  autoSchemaFile: true,
  graphiql: false,
})
const atOnce = RateLimit('2 at once lease 1s')
const failures = RateLimit({ limit: 5, window: '1h', count: 'failures' })
const withGuard = UseGuards(RateLimitGuard) as Decorator

describe('without the interceptor, a limit that has to see the end stops the start', () => {
  test.each<[string, string, ModuleMetadata]>([
    ['units in flight of a message', 'Chat.say', { imports: [noLimit], providers: [chat(atOnce)] }],
    ['units in flight of a gateway', 'Chat.say', { imports: [noLimit], providers: [chat(nothing, atOnce)] }],
    ['count of a message', 'Chat.say', { imports: [noLimit], providers: [chat(failures)] }],
    ['units in flight of a pattern', 'Sums.sum', { imports: [noLimit], controllers: [sums(atOnce)] }],
    ['units in flight of an event', 'Sums.sum', { imports: [noLimit], controllers: [sums(atOnce, EventPattern)] }],
    ['count of a pattern', 'Sums.sum', { imports: [noLimit], controllers: [sums(failures)] }],
    ['units in flight of a query', 'Answers.answer', { imports: [noLimit, graphql], providers: [answers(atOnce)] }],
    ['count of a query', 'Answers.answer', { imports: [noLimit, graphql], providers: [answers(failures)] }],
    [
      'the limit of the module, with a global guard',
      'Chat.say',
      { imports: [RateLimitModule.forRoot('2 at once')], providers: [chat(nothing), everywhere] },
    ],
    [
      'the limit of the module, with the guard on the handler',
      'Chat.say',
      { imports: [RateLimitModule.forRoot('2 at once')], providers: [chat(withGuard)] },
    ],
    [
      'count beside plans by the call',
      'Chat.say',
      {
        imports: [RateLimitModule.forRoot({ policies: () => '5/1h', count: 'successes' })],
        providers: [chat(withGuard)],
      },
    ],
    [
      'the interceptor as a provider that is not global',
      'Chat.say',
      { imports: [noLimit], providers: [chat(atOnce), RateLimitInterceptor] },
    ],
  ])('%s', async (_name, place, metadata) => {
    await expect(start('Express', metadata)).rejects.toThrow(
      expect.objectContaining({
        name: 'HeadgateError',
        code: 'HEADGATE_OPTION',
        message: expect.stringMatching(
          new RegExp(
            `^The limit at ${place.replace('.', '\\.')} .*provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor`,
          ),
        ),
      }),
    )
  })
})

/** A limit on a field resolver, in an application whose GraphQLModule has these enhancers. */
function fieldOf(
  onMethod: Decorator,
  fieldResolverEnhancers?: ('guards' | 'interceptors')[],
  providers: unknown[] = [],
) {
  class Author {}
  ObjectType()(Author)
  Field(() => String)(Author.prototype, 'name')
  class Authors {
    @Query(() => Author)
    author() {
      return { name: 'ann' }
    }

    @onMethod
    @ResolveField(() => String)
    books() {
      return 'books'
    }
  }
  Resolver(() => Author)(Authors)
  const module = GraphQLModule.forRoot<ApolloDriverConfig>({
    driver: ApolloDriver,
    autoSchemaFile: true,
    graphiql: false,
    ...(fieldResolverEnhancers && { fieldResolverEnhancers }),
  })
  return start('Express', { imports: [noLimit, module], providers: [Authors, ...(providers as [])] })
}

describe('a limit on a field resolver stops the start', () => {
  const rate = RateLimit('2/1h') as Decorator

  test.each([[undefined], [['interceptors'] as const]])('if Nest runs no guards for it: %j', async (enhancers) => {
    await expect(fieldOf(rate, enhancers as never)).rejects.toThrow(
      /^@RateLimit at Authors\.books has no effect, .*fieldResolverEnhancers: \['guards'\]/,
    )
  })

  test.each<[string, ('guards' | 'interceptors')[], unknown[]]>([
    ['runs no interceptors for it', ['guards'], [interceptor]],
    ['has no interceptor', ['guards', 'interceptors'], []],
  ])('if it counts units in flight, and Nest %s', async (_, enhancers, providers) => {
    await expect(fieldOf(atOnce, enhancers, providers)).rejects.toThrow(
      /^The limit at Authors\.books .*'interceptors' to fieldResolverEnhancers/,
    )
  })

  test('but not if Nest runs what the limit needs', async () => {
    await expect(fieldOf(rate, ['guards'])).resolves.toBeDefined()
    await expect(fieldOf(atOnce, ['guards', 'interceptors'], [interceptor])).resolves.toBeDefined()
    await expect(fieldOf(nothing)).resolves.toBeDefined()
  })
})

describe('the start succeeds', () => {
  @Injectable()
  class Mine extends RateLimitInterceptor {}
  class Page {
    @Get()
    page() {
      return 'page'
    }
  }
  Controller()(Page)
  const use = (...given: Parameters<typeof UseInterceptors>) => UseInterceptors(...given) as Decorator
  const both =
    (one: Decorator, other: Decorator): Decorator =>
    (...target: unknown[]) => {
      for (const each of [one, other]) (each as (...target: unknown[]) => void)(...target)
    }
  const forRoot = () => RateLimitModule.forRoot('2 at once')

  test.each<[string, ModuleMetadata, (() => RateLimitInterceptor)?]>([
    ['with the interceptor for all', { imports: [noLimit], providers: [chat(atOnce), interceptor] }],
    [
      'with it for all, made for each call',
      { imports: [noLimit], providers: [chat(atOnce), { ...interceptor, scope: Scope.REQUEST }] },
    ],
    ['with it on the application', { imports: [noLimit], providers: [chat(atOnce)] }, () => new RateLimitInterceptor()],
    ['with it on the class', { imports: [noLimit], providers: [chat(atOnce, use(RateLimitInterceptor))] }],
    [
      'with it on the handler',
      { imports: [noLimit], providers: [chat(both(atOnce, use(new RateLimitInterceptor())))] },
    ],
    ['with a class that extends it', { imports: [noLimit], providers: [chat(atOnce, use(Mine))] }],
    ['if no guard stands before messages', { imports: [forRoot()], providers: [chat(nothing)] }],
    [
      'if the message is skipped',
      { imports: [forRoot()], providers: [chat(SkipRateLimit() as Decorator), everywhere] },
    ],
    [
      'if the policy in flight is skipped',
      {
        imports: [RateLimitModule.forRoot({ policies: ['9/1s', '2 at once'] })],
        providers: [chat(SkipRateLimit('at-once') as Decorator), everywhere],
      },
    ],
    ['if there are only requests', { imports: [forRoot()], controllers: [Page], providers: [everywhere] }],
    ['with a rate', { imports: [RateLimitModule.forRoot('9/1s')], providers: [chat(nothing), everywhere] }],
  ])('%s', async (_name, metadata, global) => {
    const { app } = await start('Express', metadata, {
      prepare: (app) => global && app.useGlobalInterceptors(global()),
    })
    expect(app).toBeDefined()
  })
})

/** Says something over a WebSocket, and resolves to the answer. */
async function open(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`).on('error', () => {})
  onTestFinished(() => socket.terminate())
  await new Promise((resolve) => socket.once('open', resolve))
  return socket
}

test('plans by the call show it at the first call, which is an error and takes nothing', async () => {
  const { app, port } = await start(
    'Express',
    {
      imports: [RateLimitModule.forRoot({ policies: () => '2 at once', keys: () => 'k' })],
      providers: [chat(withGuard)],
    },
    { prepare: (app) => app.useWebSocketAdapter(new WsAdapter(app)) },
  )
  const socket = await open(port)
  for (let n = 0; n < 3; n++) {
    socket.send(JSON.stringify({ event: 'say' }))
    const [message] = await new Promise<[string]>((resolve) => socket.once('message', (data) => resolve([`${data}`])))
    expect(JSON.parse(message)).toMatchObject({ event: 'exception', data: { message: 'Internal server error' } })
  }
  const { limiter } = app.get(RateLimitGuard)
  expect((await (limiter as never as RateLimiter).withPlan('2 at once').peek('k')).remaining).toBe(2)
})

class Refuses {
  canActivate() {
    return false
  }
}
class Throws {
  intercept(_context: ExecutionContext, next: CallHandler) {
    if (this.#broken()) throw new WsException('broken')
    return next.handle()
  }

  #broken() {
    return true
  }
}
class Rejects {
  transform() {
    throw new WsException('wrong')
  }
}

/** What still works on a call: nothing else would keep it, and a call that was collected has ended. */
const working: unknown[] = []

/** Every way in which a handler ends, or does not. */
class Work {
  answer() {
    return 'answer'
  }
  async later() {
    await pass(20)
    return 'later'
  }
  throws() {
    throw new Error('thrown')
  }
  async rejects() {
    throw new Error('rejected')
  }
  nothing() {}
  completes() {
    return of(1, 2)
  }
  empty() {
    return EMPTY
  }
  errors() {
    return throwError(() => new Error('sent'))
  }
  never() {
    return new Observable((subscriber) => void working.push(subscriber))
  }
  ticks() {
    return interval(5)
  }
  hangs() {
    return new Promise((resolve) => void working.push(resolve))
  }
  early() {}
  guarded() {}
  intercepted() {}
  piped() {}
}

const names = Object.getOwnPropertyNames(Work.prototype).filter((name) => name !== 'constructor')
const endless = ['never', 'ticks', 'hangs']

/** The class with a decorator on each handler, and with what ends a call before its handler on some of them. */
function worker(listen: (name: string) => MethodDecorator, onClass: ClassDecorator) {
  class Worker extends Work {}
  for (const name of names) {
    const work = (Work.prototype as unknown as Record<string, () => unknown>)[name] as () => unknown
    const value = Object.defineProperty(() => work(), 'name', { value: name })
    const descriptor = { value, writable: true, configurable: true }
    Object.defineProperty(Worker.prototype, name, descriptor)
    const decorators: MethodDecorator[] = [listen(name)]
    if (name === 'guarded') decorators.push(UseGuards(Refuses) as MethodDecorator)
    if (name === 'intercepted') decorators.push(UseInterceptors(Throws) as MethodDecorator)
    if (name === 'piped') decorators.push(UsePipes(Rejects) as MethodDecorator)
    for (const decorate of decorators) decorate(Worker.prototype, name, descriptor)
  }
  onClass(Worker)
  return Worker
}

/** Stands before the interceptor of the limit. */
class Early {
  intercept(context: ExecutionContext, next: CallHandler) {
    if (context.getHandler().name === 'early') throw new WsException('early')
    return next.handle()
  }
}

/** Each handler has units of its own. */
const limiterOf = () => new RateLimiter({ policies: `50 at once lease ${lease}ms` })
async function used(limiter: RateLimiter): Promise<Record<string, number>> {
  const entries = names.map(async (name) => [name, 50 - (await limiter.peek(name)).remaining] as const)
  return Object.fromEntries((await Promise.all(entries)).filter(([, units]) => units > 0))
}

interface Client {
  send(name: string): void
  leave(how: 'closes' | 'resets'): void
}

const sendsJson = (socket: WebSocket, text: (name: string) => string): Client => ({
  send: (name) => socket.send(text(name)),
  leave: (how) => {
    const { _socket } = socket as unknown as { _socket: TcpSocket }
    if (how === 'resets') _socket.resetAndDestroy()
    else socket.close()
  },
})

/** An application whose messages are limited, and its clients, for each transport. */
const transports: Record<string, (limiter: RateLimiter) => Promise<() => Promise<Client>>> = {
  async ws(limiter) {
    const { port } = await startWith(limiter, { providers: [worker(SubscribeMessage, WebSocketGateway())] }, (app) =>
      app.useWebSocketAdapter(new WsAdapter(app)),
    )
    return async () => sendsJson(await open(port), (event) => JSON.stringify({ event }))
  },
  async 'socket.io'(limiter) {
    const { port } = await startWith(limiter, { providers: [worker(SubscribeMessage, WebSocketGateway())] }, (app) =>
      app.useWebSocketAdapter(new IoAdapter(app)),
    )
    return async () => {
      const socket = await open(`${port}/socket.io/?EIO=4&transport=websocket` as never)
      const joined = new Promise((resolve) => socket.on('message', (data) => /^40/.test(`${data}`) && resolve(data)))
      socket.send('40')
      await joined
      return sendsJson(socket, (name) => `42["${name}",1]`)
    }
  },
  async 'a microservice over TCP'(limiter) {
    const port = await freePort()
    await startWith(limiter, { controllers: [worker(MessagePattern, Controller())] }, async (app) => {
      const options: MicroserviceOptions = { transport: Transport.TCP, options: { host: '127.0.0.1', port } }
      app.connectMicroservice(options, { inheritAppConfig: true })
      await app.startAllMicroservices()
    })
    return async () => {
      const socket = connectTcp({ host: '127.0.0.1', port }).on('error', () => {})
      onTestFinished(() => void socket.destroy())
      await new Promise((resolve) => socket.once('connect', resolve))
      let id = 0
      return {
        send(pattern) {
          const text = JSON.stringify({ pattern, id: String(id++), data: 1 })
          socket.write(`${text.length}#${text}`)
        },
        leave: (how) => void (how === 'resets' ? socket.resetAndDestroy() : socket.end()),
      }
    }
  },
}

function startWith(limiter: RateLimiter, metadata: ModuleMetadata, prepare?: (app: INestApplication) => unknown) {
  const imports = [
    RateLimitModule.forRoot({ limiter, keys: (context) => context.getHandler().name }),
    ...(metadata.imports ?? []),
  ]
  const early = { provide: APP_INTERCEPTOR, useClass: Early }
  const providers = [...(metadata.providers ?? []), everywhere, early, interceptor]
  return start('Express', { ...metadata, imports, providers }, prepare && { prepare })
}

const five = (handlers: readonly string[]) => Object.fromEntries(handlers.map((name) => [name, 5]))

describe.each(Object.keys(transports))('with the interceptor, over %s', (transport) => {
  const serve = async () => {
    const limiter = limiterOf()
    const connect = await (transports[transport] as (typeof transports)[string])(limiter)
    return { limiter, connect }
  }

  test('five messages of each kind end: nothing is used three leases later, but by work that goes on', async () => {
    const { limiter, connect } = await serve()
    for (const how of ['closes', 'resets'] as const) {
      const client = await connect()
      for (const name of names) for (let n = 0; n < 5; n++) client.send(name)
      // What a guard or an interceptor before that of the limit has ended holds its units for one lease.
      await eventually(async () => expect(await used(limiter)).toEqual(five(['early', 'guarded', ...endless])))
      await pass(3 * lease)
      expect(await used(limiter)).toEqual(five(endless))
      await pass(2 * lease)
      expect(await used(limiter)).toEqual(five(endless))
      client.leave(how)
      await pass(3 * lease)
      expect(await used(limiter)).toEqual({})
    }
  })

  test('five messages of each kind whose client leaves at once: nothing is used three leases later', async () => {
    const { limiter, connect } = await serve()
    for (const how of ['closes', 'resets'] as const) {
      const client = await connect()
      for (const name of names) for (let n = 0; n < 5; n++) client.send(name)
      client.leave(how)
    }
    await pass(3.5 * lease)
    expect(await used(limiter)).toEqual({})
  })
})

test('five queries that hang hold their units while their clients wait', async () => {
  class Queries {
    @Query(() => String)
    hangs() {
      return new Promise<string>((resolve) => void working.push(resolve))
    }
  }
  Resolver()(Queries)
  const limiter = limiterOf()
  const { url } = await startWith(limiter, { imports: [graphql], providers: [Queries] })
  const leaving = new AbortController()
  const headers = { 'content-type': 'application/json' }
  const asked = Array.from({ length: 5 }, () =>
    fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{ hangs }"}', signal: leaving.signal }),
  )
  await eventually(async () => expect(await used(limiter)).toEqual({ hangs: 5 }))
  await pass(3 * lease)
  expect(await used(limiter)).toEqual({ hangs: 5 })
  leaving.abort()
  await Promise.allSettled(asked)
  await pass(3 * lease)
  expect(await used(limiter)).toEqual({})
})

/** A promise that `open` fulfils. */
function newGate() {
  let open = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open: () => open() }
}

test('no query runs for clients that leave before the decision', async () => {
  const [gate, decided] = [newGate(), vi.fn()]
  let ran = 0
  class Queries {
    @Query(() => String)
    answer() {
      ran++
      return 'answer'
    }
  }
  Resolver()(Queries)
  const keys = async () => {
    decided()
    await gate.promise
    return 'k'
  }
  const { url } = await start('Express', {
    imports: [RateLimitModule.forRoot({ policies: '2 at once', keys }), graphql],
    providers: [Queries, everywhere, interceptor],
  })
  const leaving = new AbortController()
  const headers = { 'content-type': 'application/json' }
  const ask = (signal?: AbortSignal) =>
    fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{ answer }"}', signal: signal ?? null })
  const asked = Array.from({ length: 6 }, () => ask(leaving.signal))
  await eventually(async () => expect(decided).toHaveBeenCalledTimes(6))
  leaving.abort()
  await Promise.allSettled(asked)
  await pass(100) // the server notices that its clients have left
  gate.open()
  await pass(100)
  expect(ran).toBe(0)
  expect(await (await ask()).json()).toEqual({ data: { answer: 'answer' } })
})

test('messages whose clients leave before the decision are handled, never more at once than the limit', async () => {
  const [gate, decided] = [newGate(), vi.fn()]
  const [running, most] = [new Set<object>(), { value: 0 }]
  class Handler {
    async answer() {
      const own = {}
      running.add(own)
      most.value = Math.max(most.value, running.size)
      await pass(100)
      running.delete(own)
    }
  }
  const listen = MessagePattern('answer') as MethodDecorator
  listen(
    Handler.prototype,
    'answer',
    Object.getOwnPropertyDescriptor(Handler.prototype, 'answer') as PropertyDescriptor,
  )
  Controller()(Handler)
  const keys = async () => {
    decided()
    await gate.promise
    return 'k'
  }
  const port = await freePort()
  const imports = [RateLimitModule.forRoot({ policies: '2 at once', keys })]
  await start(
    'Express',
    { imports, controllers: [Handler], providers: [everywhere, interceptor] },
    {
      prepare: async (app) => {
        const options: MicroserviceOptions = { transport: Transport.TCP, options: { host: '127.0.0.1', port } }
        app.connectMicroservice(options, { inheritAppConfig: true })
        await app.startAllMicroservices()
      },
    },
  )
  const sockets = Array.from({ length: 6 }, () => connectTcp({ host: '127.0.0.1', port }).on('error', () => {}))
  const text = JSON.stringify({ pattern: 'answer', id: '1', data: 1 })
  for (const socket of sockets) socket.write(`${text.length}#${text}`)
  await eventually(async () => expect(decided).toHaveBeenCalledTimes(6))
  for (const socket of sockets) socket.destroy()
  await pass(100) // the server notices that its clients have left
  gate.open()
  await eventually(async () => expect(most.value).toBeGreaterThan(0))
  await pass(300)
  expect(most.value).toBe(2)
})
