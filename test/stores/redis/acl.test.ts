/* The commands that docs/redis.md lists are all that a user needs, and each of them is needed. */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, describe, expect, test } from 'vitest'
import { RateLimiter } from '../../../src/index.ts'
import { type RedisClient, redisStore } from '../../../src/stores/redis/index.ts'
import { testStore } from '../../../src/testing/index.ts'
import { sampled } from '../../support/depth.ts'
import { startRedis } from '../../support/redis-server.ts'
import { useRedis } from '../../support/use-server.ts'
import { quickTest } from '../../support/whole-store.ts'

const { server, client } = await useRedis()
const closes: (() => unknown)[] = []
afterAll(() => {
  for (const close of closes) close()
})

const docs = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8')
/** The rule of the docs, such as `+mget`, without what a client needs to connect. */
const rule = (/ACL SETUSER limits on >secret (.*)/.exec(docs)?.[1] ?? '').split(' ')
const commands = rule.filter((word) => word.startsWith('+')).map((word) => word.slice(1))
/** What the contract needs beyond it: `limiter.list()` and `limiter.clear()`. */
const operating = ['+scan', '+unlink']
const password = 'secret'

/** A user with these rules, and a client of its own. */
async function userWith(name: string, username: string, rules: readonly string[]): Promise<RedisClient> {
  const connecting = name === 'ioredis' ? ['+info'] : ['+hello']
  await client.acl('SETUSER', username, 'reset', 'on', `>${password}`, ...rules, ...connecting)
  if (name === 'ioredis') {
    const own = new Redis(server.port, { username, password })
    own.on('error', () => undefined)
    closes.push(() => own.disconnect())
    return own
  }
  const own = createClient({ username, password, socket: { port: server.port } })
  own.on('error', () => undefined)
  closes.push(() => own.destroy())
  return (await own.connect()) as RedisClient
}

const clients = ['ioredis', 'node-redis']
let stores = 0

for (const name of sampled(clients, 1)) {
  // A prefix for each test.
  const own = await userWith(name, `limits-${name}`, [...rule, '~headgate/*', ...operating])
  testStore({
    name: `Redis, a user with the rule of the docs, ${name}`,
    test: quickTest,
    create: (clock) =>
      redisStore({ client: own, clock, ttlMargin: '1d', timeout: '10s', prefix: `headgate/${name}-${stores++}` }),
  })
}

async function everyCall(limiter: RateLimiter): Promise<void> {
  await limiter.consume('k')
  await limiter.consume('k')
  await limiter.peek('k')
  await limiter.reset('k')
}

test('a user with the rule of the docs can do everything with the time of Redis, and from the beginning', async () => {
  for (const name of clients) {
    await client.script('FLUSH')
    const store = redisStore({ client: await userWith(name, `all-${name}`, rule), timeout: '5s' })
    const limiter = new RateLimiter({ name: `all-${name}`, policies: '10/1h', store, onStoreError: 'throw' })
    await everyCall(limiter)
    expect(limiter.health()).toMatchObject({ state: 'closed', errors: 0 })
  }
})

test('the rule has the commands that the table lists', () => {
  const rows = docs.split('\n').filter((line) => /^\| `[A-Z]/.test(line) && !/subscriber|limiter\./.test(line))
  const listed = rows.flatMap((row) =>
    [...(row.split('|')[1] as string).matchAll(/`([A-Z]+)`/g)].map(([, word]) => word),
  )
  expect(listed.filter((word) => word !== 'PX' && word !== 'NX').sort()).toEqual(
    commands.map((command) => command.toUpperCase()).sort(),
  )
})

describe.each(commands)('%s', (command) => {
  const rejected = async (own: RedisClient) => {
    const store = redisStore({ client: own, timeout: '5s', prefix: 'headgate' })
    const limiter = new RateLimiter({
      name: `no-${command}`,
      policies: '10/1h fixed-window',
      store,
      onStoreError: 'throw',
    })
    await expect(everyCall(limiter)).rejects.toMatchObject({
      code: 'HEADGATE_STORE',
      message: expect.stringMatching(new RegExp(`\\b${command}\\b`, 'i')),
    })
  }

  test.each(clients)('a user who may not run it gets an error that names it, %s', async (name) => {
    await client.script('FLUSH')
    if (command === 'evalsha') await client.call('EVAL', 'return 1', '0')
    const rules = rule.filter((word) => word !== `+${command}`)
    await rejected(await userWith(name, `poor-${command}-${name}`, rules))
  })

  test('a server that lacks it gets an error that names it', async () => {
    const poor = await startRedis('--rename-command', command.toUpperCase(), '')
    const own = new Redis(poor.port)
    own.on('error', () => undefined)
    await rejected(own)
    own.disconnect()
    await poor.stop()
  })
})
