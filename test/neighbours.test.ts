import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampled } from './support/depth.ts'
import { startRedis } from './support/redis-server.ts'

/*
 * The packed package beside older versions of what it works with. npm installs it beside all of them, also where it is used with
 * something else. Each one then works, or gives an error that says what to do. `npm test` has built dist just before.
 */

interface Neighbour {
  /** The versions, as package.json of the application has them. */
  readonly packages: Readonly<Record<string, string>>
  /** A program that prints what happens. It has `statusesOf(url)`, which sends three requests, and `codeOf(run)`. */
  readonly program: string
  /** What it prints, as JSON. */
  readonly prints: unknown
}

const refusesThird = [200, 200, 429]
const tooOld = 'HEADGATE_VERSION'

const nest = (entry: string) => `
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
${entry}
class Pages { home() { return 'home' } }
Get()(Pages.prototype, 'home', Object.getOwnPropertyDescriptor(Pages.prototype, 'home'))
Controller()(Pages)
class App {}
Module({ imports: [limits], controllers: [Pages], providers: [{ provide: APP_GUARD, useClass: Guard }] })(App)
const app = await NestFactory.create(App, { logger: false })
await app.listen(0, '127.0.0.1')
print(await statusesOf(await app.getUrl()))
await app.close()`

const fastify = (limit: string) => `
import fastify from 'fastify'
${limit}
const app = fastify()
await app.register(limit.plugin, limit.options)
app.get('/', { config: { rateLimit: limit.ofRoute } }, async () => 'home')
print(await statusesOf(await app.listen({ port: 0, host: '127.0.0.1' })))
await app.close()`

const hono = `
import { Hono } from 'hono'
import { rateLimit } from 'headgate/hono'
const app = new Hono()
app.onError((error, c) => c.text(error.code, 500))
app.use('*', rateLimit('2/1h', { address: () => '192.0.2.1' }))
app.get('/', (c) => c.text('home'))
const responses = []
for (let n = 0; n < 3; n++) responses.push(await app.request('http://localhost/'))
`

/** The answers of a limiter on Redis, with what `makeClient` returns. */
const redis = (makeClient: string) => `
import { RateLimiter } from 'headgate'
import { redisStore } from 'headgate/redis'
${makeClient}
const client = await makeClient()
client.on('error', () => {})
const answers = async () => {
  const limiter = new RateLimiter({ name: 'neighbour' + process.pid, policies: '2/1h', store: redisStore({ client }), onStoreError: 'throw' })
  const decisions = [await limiter.consume('key'), await limiter.consume('key'), await limiter.consume('key')]
  return decisions.map(({ allowed }) => allowed)
}
print(await answers().catch(({ code }) => code))
process.exit()`

const nodeRedis = (options: string) =>
  redis(`import { createClient } from 'redis'
async function makeClient() {
  const client = createClient({ url: 'redis://127.0.0.1:' + process.env.REDIS_PORT, ${options} })
  await client.connect()
  return client
}`)

const nestPackages = (version: string, rxjs: string) => ({
  '@nestjs/common': version,
  '@nestjs/core': version,
  '@nestjs/platform-express': version,
  'reflect-metadata': '^0.1.13',
  rxjs,
})

const neighbours: Record<string, Neighbour> = {
  'Nest 10': {
    packages: nestPackages('^10.4.0', '^7.8.0'),
    program: nest(`import { RateLimitGuard as Guard, RateLimitModule } from 'headgate/nest'
const limits = RateLimitModule.forRoot('2/1h')`),
    prints: refusesThird,
  },
  // Nest 11 runs no global guards and interceptors for messages of gateways, as Nest 12 does.
  'Nest 11 with gateways': {
    packages: {
      ...nestPackages('^11.1.0', '^7.8.0'),
      '@nestjs/websockets': '^11.1.0',
      '@nestjs/platform-ws': '^11.1.0',
    },
    program: `import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { RateLimit, RateLimitGuard, RateLimitInterceptor, RateLimitModule } from 'headgate/nest'
const warned = []
process.on('warning', ({ code }) => warned.push(code))
async function starts(limit) {
  class Chat { say() {} }
  const say = Object.getOwnPropertyDescriptor(Chat.prototype, 'say')
  SubscribeMessage('say')(Chat.prototype, 'say', say)
  if (limit) RateLimit(limit)(Chat.prototype, 'say', say)
  WebSocketGateway()(Chat)
  class App {}
  const global = [{ provide: APP_GUARD, useClass: RateLimitGuard }, { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }]
  Module({ imports: [RateLimitModule.forRoot('2/1h')], providers: [Chat, ...global] })(App)
  const app = await NestFactory.create(App, { logger: false, abortOnError: false })
  app.useWebSocketAdapter(new WsAdapter(app))
  return app.init().then(() => 'starts', ({ code }) => code)
}
const outcomes = [await starts('2/1h'), await starts('2 at once'), warned.length, await starts()]
await new Promise(setImmediate)
print([...outcomes, warned])`,
    prints: ['starts', 'HEADGATE_OPTION', 0, 'starts', ['HEADGATE_UNGUARDED']],
  },
  'Nest 10 with @nestjs/throttler': {
    packages: { ...nestPackages('^10.4.0', '^7.8.0'), '@nestjs/throttler': '^6.4.0' },
    program: nest(`import { ThrottlerGuard as Guard, ThrottlerModule } from '@nestjs/throttler'
import { HeadgateThrottlerStorage } from 'headgate/compat/nest-throttler'
const limits = ThrottlerModule.forRoot({ throttlers: [{ limit: 2, ttl: 60_000 }], storage: new HeadgateThrottlerStorage() })`),
    prints: refusesThird,
  },
  'Nest 7, with rxjs 6': {
    packages: nestPackages('^7.6.0', '^6.6.0'),
    program: `import { RateLimitModule } from 'headgate/nest'
print(codeOf(() => RateLimitModule.forRoot('2/1h')))`,
    prints: tooOld,
  },
  'ioredis 4': {
    packages: { ioredis: '4.28.0' },
    program: redis(`import Redis from 'ioredis'
const makeClient = () => new Redis(process.env.REDIS_PORT)`),
    prints: [true, true, false],
  },
  'redis 3': {
    packages: { redis: '^3.1.2' },
    program: redis(`import redis from 'redis'
const makeClient = () => redis.createClient(process.env.REDIS_PORT)`),
    prints: tooOld,
  },
  'redis 4': { packages: { redis: '4.0.0' }, program: nodeRedis(''), prints: [true, true, false] },
  'redis 4 in legacy mode': {
    packages: { redis: '^4.6.0' },
    program: nodeRedis('legacyMode: true'),
    prints: 'HEADGATE_OPTION',
  },
  'Fastify 4': {
    packages: { fastify: '4.25.0' },
    program: fastify(`import { rateLimit } from 'headgate/fastify'
const limit = { plugin: rateLimit('9/1h'), ofRoute: '2/1h' }`),
    prints: refusesThird,
  },
  'Fastify 4, in place of @fastify/rate-limit': {
    packages: { fastify: '^4.29.0' },
    program: fastify(`import plugin from 'headgate/compat/fastify-rate-limit'
const limit = { plugin, options: { max: 9 }, ofRoute: { max: 2 } }`),
    prints: refusesThird,
  },
  'Fastify 3': {
    packages: { fastify: '^3.29.0' },
    program: `import fastify from 'fastify'
import { byRoute } from 'headgate'
import { rateLimit } from 'headgate/fastify'
const app = fastify()
const { hook } = rateLimit('2/1h', { keys: byRoute() })
app.setErrorHandler(({ code }, request, reply) => reply.send(code))
app.get('/', { preHandler: hook }, async () => 'home')
const answer = await app.inject('/')
const other = fastify()
other.register(rateLimit('2/1h'))
print([answer.body, await other.ready().then(() => 'ready', ({ code }) => code)])`,
    prints: [tooOld, tooOld],
  },
  'ws 7': {
    packages: { ws: '^7.5.0' },
    program: `import { once } from 'node:events'
import WebSocket from 'ws'
import { limitMessages } from 'headgate/sockets'
const server = new WebSocket.Server({ port: 0, host: '127.0.0.1' })
await once(server, 'listening')
const client = new WebSocket('ws://127.0.0.1:' + server.address().port)
const [socket] = await once(server, 'connection')
print(codeOf(() => limitMessages(socket, '2/1h', { key: 'ann' })))
client.on('error', () => {})
client.terminate()
server.close()`,
    prints: tooOld,
  },
  'Hono 3': {
    packages: { hono: '3.11.0' },
    program: `${hono}print(responses.map(({ status }) => status))`,
    prints: refusesThird,
  },
  'Hono 3.0': { packages: { hono: '3.0.0' }, program: `${hono}print(await responses[0].text())`, prints: tooOld },
  'h3 1': {
    packages: { h3: '^1.15.0' },
    program: `import { rateLimit } from 'headgate/h3'
print(codeOf(() => rateLimit('2/1h')))`,
    prints: tooOld,
  },
  'h3 of Nitro 3.0.0': {
    packages: { h3: '2.0.1-rc.2' },
    program: `import { rateLimit } from 'headgate/h3'
print(codeOf(() => rateLimit('2/1h')))`,
    prints: tooOld,
  },
  'OpenTelemetry 1.0': {
    packages: { '@opentelemetry/api': '1.0.4' },
    program: `import { HeadgateInstrumentation } from 'headgate/otel'
print(codeOf(() => new HeadgateInstrumentation()))`,
    prints: tooOld,
  },
}

const prelude = `
const print = (value) => console.log(JSON.stringify(value))
const codeOf = (run) => {
  try {
    run()
    return 'no error'
  } catch (error) {
    return error.code ?? error.message
  }
}
const statusesOf = async (url) => {
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await fetch(url)).status)
  return statuses
}
`

const root = fileURLToPath(new URL('..', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'headgate-neighbours-'))
/** Without the settings of the npm that runs this: the application is another package. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_)/.test(name)))
let tarball: string
let port: number

beforeAll(async () => {
  const packed = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], root))
  tarball = join(home, packed[0].filename)
  const server = await startRedis()
  port = server.port
  return server.stop
}, 120_000)

afterAll(() => rmSync(home, { recursive: true, force: true }))

function run(command: string, args: readonly string[], cwd: string): string {
  const env = { ...environment, REDIS_PORT: String(port) }
  return execFileSync(command, args, { cwd, encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] })
}

test.each(sampled(Object.entries(neighbours), 1))(
  'is installed beside %s, and works with it or says what to do',
  (name, { packages, program, prints }) => {
    const folder = join(home, name.replaceAll(/\W+/g, '-'))
    mkdirSync(folder)
    const dependencies = { ...packages, headgate: `file:${tarball}` }
    const application = { name: 'application', private: true, type: 'module', dependencies }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(application))
    run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], folder)
    writeFileSync(join(folder, 'main.mjs'), `${prelude}${program}`)
    expect(JSON.parse(run(process.execPath, ['main.mjs'], folder))).toEqual(prints)
  },
  300_000,
)
