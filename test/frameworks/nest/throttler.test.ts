/* The storage beside the one of @nestjs/throttler: the same hits must get the same answers. */
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule, type ThrottlerStorage, ThrottlerStorageService } from '@nestjs/throttler'
import { memoryStore } from 'headgate'
import { HeadgateThrottlerStorage } from 'headgate/compat/nest-throttler'
import { afterEach, describe, expect, test, vi } from 'vitest'

const start = Date.UTC(2026, 0, 1)
afterEach(() => void vi.useRealTimers())

/** Window, limit and ban of a throttler, and the milliseconds between its hits. */
type Script = readonly [ttl: number, limit: number, blockDuration: number, steps: readonly number[]]

const scripts: Readonly<Record<string, Script>> = {
  'a ban as long as the window': [2000, 2, 2000, [0, 0, 0, 500, 1499, 1, 0, 0, 0, 5000]],
  'a longer ban': [2000, 2, 6000, [0, 100, 0, 500, 5499, 1, 0, 0, 6000]],
  'a shorter ban, after which the count starts anew': [10_000, 2, 3000, [0, 0, 0, 2999, 1, 0, 0, 0]],
  'no ban': [2000, 2, 0, [0, 500, 0, 0, 1499, 1, 0, 500]],
  'a limit of 0': [2000, 0, 2000, [0, 1]],
}

describe('HeadgateThrottlerStorage', () => {
  const play = async (storage: ThrottlerStorage, [ttl, limit, blockDuration, steps]: Script) => {
    vi.useFakeTimers({ now: start, toFake: ['Date'] })
    const answers: unknown[] = []
    for (const later of steps) {
      vi.setSystemTime(Date.now() + later)
      const record = await storage.increment('ann', ttl, limit, blockDuration, 'default')
      const { isBlocked, totalHits, timeToBlockExpire } = record
      answers.push(isBlocked ? { isBlocked, timeToBlockExpire } : { isBlocked, totalHits })
    }
    return answers
  }

  test.each(Object.entries(scripts))('%s', async (_, script) => {
    const expected = await play(new ThrottlerStorageService(), script)
    expect(await play(new HeadgateThrottlerStorage(), script)).toEqual(expected)
    expect(
      await play(new HeadgateThrottlerStorage({ store: memoryStore({ clock: () => Date.now() * 1000 }) }), script),
    ).toEqual(expected)
  })

  test('says when the oldest hit leaves the window', async () => {
    vi.useFakeTimers({ now: start, toFake: ['Date'] })
    const storage = new HeadgateThrottlerStorage()
    const hit = () => storage.increment('ann', 10_000, 5, 0, 'default')
    expect(await hit()).toMatchObject({ totalHits: 1, timeToExpire: 10 })
    vi.setSystemTime(start + 4000)
    expect(await hit()).toMatchObject({ totalHits: 2, timeToExpire: 6 })
    vi.setSystemTime(start + 10_000)
    expect(await hit()).toMatchObject({ totalHits: 2, timeToExpire: 4 })
  })

  test('counts the throttlers of one key apart, and a changed limit on', async () => {
    const storage = new HeadgateThrottlerStorage()
    await storage.increment('ann', 1000, 1, 0, 'short')
    expect(await storage.increment('ann', 60_000, 1, 0, 'long')).toMatchObject({ totalHits: 1, isBlocked: false })
    expect(await storage.increment('ann', 60_000, 5, 0, 'long')).toMatchObject({ totalHits: 2, isBlocked: false })
  })
})

describe('an application of Nest', () => {
  async function answers(storage: ThrottlerStorage): Promise<unknown[]> {
    class Home {
      hello() {
        return 'hello'
      }
    }
    Controller()(Home)
    Get()(Home.prototype, 'hello', Object.getOwnPropertyDescriptor(Home.prototype, 'hello') as PropertyDescriptor)
    class App {}
    Module({
      imports: [ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 2 }], storage })],
      controllers: [Home],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    })(App)
    const app = await NestFactory.create(App, { logger: false })
    await app.listen(0, '127.0.0.1')
    const all: unknown[] = []
    for (let count = 0; count < 3; count++) {
      const response = await fetch(await app.getUrl())
      const fields = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
      all.push([response.status, ...fields.map((name) => response.headers.get(name)), await response.text()])
    }
    await app.close()
    return all
  }

  test('gets the same statuses, fields and bodies', async () => {
    const expected = await answers(new ThrottlerStorageService())
    expect(await answers(new HeadgateThrottlerStorage())).toEqual(expected)
    expect(expected.map((answer) => (answer as unknown[])[0])).toEqual([200, 200, 429])
  })
})
