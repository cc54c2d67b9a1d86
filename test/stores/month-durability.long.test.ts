/*
 * What a store has lost of a month after its server was killed, and which syncs of the disk an answer waits for. A process that is killed
 * loses only what it had not given to the operating system. What a power loss takes, the kill does not show: the traces do. They say
 * for each answer whether its units were on the disk.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { fixedWindow, type Policy, RateLimiter, type Store } from '../../src/index.ts'
import { type PostgresStoreOptions, postgresStore } from '../../src/stores/postgres/index.ts'
import { type RedisStoreOptions, redisStore } from '../../src/stores/redis/index.ts'
import { midMonth } from '../support/mid-month.mjs'
import { startPostgres } from '../support/postgres-server.ts'
import { type RedisServer, startRedis, startRedisUnder } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { isSync, type SystemCall, systemCalls, traced } from '../support/trace.ts'

const folder = temporaryFolder()
chmodSync(folder, 0o777) // Postgres has a user of its own

const month = calendarWindow(midMonth)
const limiterOn = (store: Store, policy: Policy = month) =>
  new RateLimiter({ name: 'api', policies: policy, store, onStoreError: 'throw' })

async function usedOn(store: Store): Promise<number> {
  return (await limiterOn(store).usage('ann')).policies[0]?.used as number
}

/** Takes units in four places at once, kills the server after some answers, and returns how many calls were made and admitted. */
async function takeUntilKilled(store: Store, kill: () => Promise<void>, answers: number) {
  const limiter = limiterOn(store)
  let made = 0
  let admitted = 0
  let killed: Promise<void> | undefined
  async function take(): Promise<void> {
    for (;;) {
      made++
      try {
        if ((await limiter.consume('ann')).allowed) admitted++
      } catch (error) {
        if (killed === undefined) throw error
        return
      }
      if (admitted >= answers) killed ??= kill()
    }
  }
  await Promise.all([take(), take(), take(), take()])
  await killed
  return { made, admitted }
}

/** What the calls of several rounds took, before the server was killed at the end of each, and what it had then. */
async function rounds(round: () => Promise<{ made: number; admitted: number }>, used: () => Promise<number>) {
  const total = { made: 0, admitted: 0, used: 0 }
  for (let n = 0; n < 3; n++) {
    const { made, admitted } = await round()
    total.made += made
    total.admitted += admitted
    total.used = await used()
    expect(total.used).toBeLessThanOrEqual(total.made)
  }
  return total
}

describe('Redis is killed in mid-month', () => {
  async function start(...persistence: string[]) {
    const server = await startRedis(...persistence)
    onTestFinished(() => server.stop())
    return server
  }

  function open({ port }: RedisServer, options: Partial<RedisStoreOptions> = {}) {
    const client = new Redis(port, { retryStrategy: () => null })
    client.on('error', () => {})
    onTestFinished(() => client.disconnect())
    return redisStore({ client, timeout: '5s', ...options })
  }

  test.each([{}, { leases: { units: 4 } }])(
    'with appendfsync always and %o, what was answered is used',
    async (options) => {
      const server = await start('--appendonly', 'yes', '--appendfsync', 'always')
      async function round() {
        const outcome = await takeUntilKilled(open(server, options), () => server.stop(), 100)
        await server.start()
        return outcome
      }
      const { admitted, used } = await rounds(round, () => usedOn(open(server)))
      expect(admitted).toBeGreaterThanOrEqual(300)
      expect(used).toBeGreaterThanOrEqual(admitted)
    },
  )

  test.each([
    [
      'with appendfsync everysec, what is in the log is used',
      ['--appendonly', 'yes', '--appendfsync', 'everysec'],
      100,
    ],
    ['without an append-only file, everything is lost', [], 0],
  ])('%s', async (_, persistence, left) => {
    const server = await start(...persistence)
    const limiter = limiterOn(open(server))
    for (let n = 0; n < 100; n++) await limiter.consume('ann')
    // While the disk is slow, Redis keeps in memory for up to 2 s what it has not given to the operating system.
    const info = async () => (await server.command('INFO', 'persistence')).match(/aof_buffer_length:(\d+)/)?.[1] ?? '0'
    await expect.poll(info).toBe('0')
    await server.stop()
    await server.start()
    expect(await usedOn(open(server))).toBe(left)
  })
})

describe('Postgres is killed in mid-month', () => {
  /** The log of the server is written by commits that wait for it, and else every 10 s. */
  async function killed(options: Partial<PostgresStoreOptions>) {
    const server = await startPostgres(['fsync=on', 'wal_writer_delay=10s'])
    onTestFinished(() => server.stop())
    const open = () => {
      const pool = new Pool(server.config)
      pool.on('error', () => {})
      onTestFinished(() => pool.end())
      return postgresStore({ pool, timeout: '5s', ...options })
    }
    await open().migrate()
    async function round() {
      const outcome = await takeUntilKilled(open(), server.kill, 100)
      await server.start()
      return outcome
    }
    return rounds(round, () => usedOn(open()))
  }

  test("with synchronous: 'full', what was answered is used", async () => {
    const { admitted, used } = await killed({ synchronous: 'full' })
    expect(admitted).toBeGreaterThanOrEqual(300)
    expect(used).toBeGreaterThanOrEqual(admitted)
  })

  test("with synchronous: 'normal', the last units are lost", async () => {
    const { admitted, used } = await killed({})
    expect(used).toBeLessThan(admitted)
  })
})

test('the memory of a process is lost with it', async () => {
  const program = `
    import { RateLimiter } from 'headgate'
    import { quota } from 'headgate/calendar'
    const limiter = new RateLimiter({ policies: quota('1000000/month') })
    for (;;) console.log((await limiter.consume('ann')).policies[0].used)`
  for (let n = 0; n < 2; n++) {
    const process = spawn('node', ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [first] = await once(createInterface(process.stdout), 'line')
    expect(first).toBe('1')
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
})

describe('before each answer, the log is on the disk', () => {
  const calls = 50
  /** Calls of one connection, one after the other. */
  async function take(store: Store, policy: Policy) {
    const limiter = limiterOn(store, policy)
    for (let n = 0; n < calls; n++) expect((await limiter.consume('ann')).allowed).toBe(true)
  }

  /** How many answers the server sent to such questions, and how many of them before a sync had ended of what it had written to its log. */
  function answersIn(trace: readonly SystemCall[], question: RegExp, log: string) {
    const found = { answers: 0, early: 0 }
    let state: 'asked' | 'written' | 'synced' | undefined
    for (const call of trace) {
      const { name, file, rest } = call
      if (file.includes(log)) {
        if (state === 'asked' && !isSync(call)) state = 'written'
        else if (state === 'written' && isSync(call)) state = 'synced'
      } else if (file.startsWith('socket:')) {
        if (name.startsWith('re')) {
          if (question.test(rest)) state = 'asked'
        } else if (state !== undefined) {
          const failed = rest.startsWith(', "-') // Redis does not know the script yet
          if (!failed) found.answers++
          if (!failed && state !== 'synced') found.early++
          state = undefined
        }
      }
    }
    return found
  }

  const policies = [
    ['a month', month],
    ['a fixed window', fixedWindow({ limit: 1_000_000, window: '366d' })],
  ] as const
  const network = 'read,recvfrom,write,writev,sendto,pwrite64,pwritev,fsync,fdatasync'

  test.each(policies)('Redis with appendfsync always, %s; with everysec it is not', async (name, policy) => {
    for (const appendfsync of ['always', 'everysec']) {
      const log = join(folder, `redis ${name} ${appendfsync}`)
      const persistence = ['--appendonly', 'yes', '--appendfsync', appendfsync]
      const server = await startRedisUnder(traced(log, network, ['-s', '200']), persistence)
      const client = new Redis(server.port)
      client.on('error', () => {})
      await take(redisStore({ client, timeout: '5s' }), policy)
      client.disconnect()
      await server.stop()
      const { answers, early } = answersIn(await systemCalls(log), /\\neval(?:sha)?\\r/i, '/appendonlydir/')
      expect(answers).toBeGreaterThanOrEqual(calls)
      if (appendfsync === 'always') expect(early).toBe(0)
      else expect(early).toBeGreaterThan(calls / 2)
    }
  })

  /** A transaction that decides a call. The reads of overrides are read only, and need no sync. */
  const decided = /^(?!.*read committed read only).*; commit\\0"/

  test.each(policies)("Postgres with synchronous: 'full', %s; with 'normal' it is not", async (name, policy) => {
    for (const synchronous of ['full', 'normal'] as const) {
      const log = join(folder, `postgres ${name} ${synchronous}`)
      const server = await startPostgres(['fsync=on'], traced(log, network, ['-s', '8000']))
      const pool = new Pool({ ...server.config, max: 1 })
      const store = postgresStore({ pool, synchronous, timeout: '5s' })
      await store.migrate()
      await take(store, policy)
      await pool.end()
      await server.stop()
      const { answers, early } = answersIn(await systemCalls(log), decided, '/pg_wal/')
      expect(answers).toBeGreaterThanOrEqual(calls)
      if (synchronous === 'full') expect(early).toBe(0)
      else expect(early).toBeGreaterThan(calls / 2)
    }
  })
})
