import { readFileSync } from 'node:fs'
import { memoryStore } from 'headgate'
import { ManualClock } from 'headgate/testing'
import request from 'supertest'
import { afterAll, expect, test, vi } from 'vitest'
import { createApp } from '../../examples/logins/app.ts'
import { headgateWarnings } from '../support/headgate-warnings.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

const hour = 3_600_000

/** The app, with a user `ann`. A wait of the check lets tests overlap logins. */
function setUp(wait: () => Promise<unknown> = async () => undefined) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  let checks = 0
  const check = async (user: unknown, password: unknown) => {
    checks++
    await wait()
    return user === 'ann' && password === 'secret'
  }
  const app = createApp(check, (_request, _response, next) => next(), memoryStore({ clock: clock.now })).listen(0)
  const login = async (password: string, user = 'ann') => request(app).post('/login').send({ user, password })
  const statuses = async (...passwords: string[]) => {
    const seen: number[] = []
    for (const password of passwords) seen.push((await login(password)).status)
    return seen
  }
  return { clock, app, login, statuses, checked: () => checks, [Symbol.dispose]: () => void app.close() }
}

const guesses = (count: number) => Array.from({ length: count }, (_, n) => `guess-${n}`)

test('the fifth failure in 15 minutes bans for an hour, also those who know the password', async () => {
  using world = setUp()
  const { clock, login, statuses } = world
  expect(await statuses(...guesses(5))).toEqual([401, 401, 401, 401, 401])
  const refused = await login('secret')
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3600'])
  clock.advance(hour - 1)
  expect(await statuses('secret')).toEqual([429])
  clock.advance(1)
  expect(await statuses('secret')).toEqual([200])
})

test('who guesses as fast as allowed has 25 guesses in 5 hours', async () => {
  using world = setUp()
  const { clock, login } = world
  const end = clock.milliseconds + 5 * hour
  let admitted = 0
  while (clock.milliseconds < end) {
    const { status, headers } = await login('guess')
    if (status === 401) admitted++
    else clock.advance(Number(headers['retry-after']) * 1000)
  }
  expect(admitted).toBe(25)
})

test('a success counts for nothing, and forgets the failures before it', async () => {
  using world = setUp()
  const { statuses } = world
  expect(await statuses(...guesses(4), ...Array(20).fill('secret'), ...guesses(4), 'secret', ...guesses(4))).toEqual([
    ...Array(4).fill(401),
    ...Array(20).fill(200),
    ...Array(4).fill(401),
    200,
    ...Array(4).fill(401),
  ])
})

test.each([
  ['guess', 429],
  ['secret', 200],
])('of 8 guesses at once five are checked; with %s among them, the next login gets %i', async (fifth, next) => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  using world = setUp(() => released)
  const { login, statuses } = world
  let refused = 0
  const seen = [...guesses(4), fifth].map(async (password) => (await login(password)).status)
  await vi.waitFor(() => expect(world.checked()).toBe(5))
  for (const password of guesses(3)) if ((await login(password)).status === 429) refused++
  release()
  expect((await Promise.all(seen)).toSorted()).toEqual(
    fifth === 'secret' ? [200, 401, 401, 401, 401] : Array(5).fill(401),
  )
  expect(refused).toBe(3)
  expect(await statuses('secret')).toEqual([next])
})

test('the answers for a user who does not exist are the same', async () => {
  const fields = async (user: string) => {
    using world = setUp()
    const all: unknown[] = []
    for (const guess of guesses(7)) {
      const { status, headers, text } = await world.login(guess, user)
      all.push([status, { ...headers, date: '' }, text])
    }
    return all
  }
  expect(await fields('nobody')).toEqual(await fields('ann'))
})

test('an operator lifts a ban, and the user has 5 attempts again; other users are not banned', async () => {
  using world = setUp()
  const { app, login, statuses } = world
  await statuses(...guesses(5))
  expect(await statuses('secret')).toEqual([429])
  expect((await login('guess', 'bob')).status).toBe(401)
  await request(app).delete('/bans/127.0.0.1%7Cann').expect(204)
  expect(await statuses(...guesses(4), 'secret')).toEqual([401, 401, 401, 401, 200])
})

test('a guesser with many addresses of one IPv6 subscriber, or many spellings of a name, has five guesses', async () => {
  const app = createApp(
    async () => false,
    (_request, _response, next) => next(),
  )
  app.set('trust proxy', 1)
  const spellings = ['ann', 'ANN', ' ann ', 'ａnn', 'Ann\u3000', 'ann']
  const seen = spellings.map(async (user, n) => {
    const login = request(app).post('/login').set('X-Forwarded-For', `2001:db8::${n}`)
    return (await login.send({ user, password: 'guess' })).status
  })
  expect((await Promise.all(seen)).toSorted()).toEqual([401, 401, 401, 401, 401, 429])
})

test('a user whose name differs only in case or width cannot reset the failures of another user', async () => {
  const secrets = new Map([
    ['ann', 'secret'],
    ['ANN', 'own'],
    ['ａｎｎ', 'own'],
  ])
  const tried: string[] = []
  const check = async (user: string, password: unknown) => {
    tried.push(user)
    return secrets.get(user) === password
  }
  const app = createApp(check, (_request, _response, next) => next())
  const login = async (user: string, password: string) =>
    (await request(app).post('/login').send({ user, password })).status
  for (const guess of guesses(3)) await login('ann', guess)
  expect(await login('ANN', 'own')).toBe(401)
  expect(await login('ａｎｎ', 'own')).toBe(401)
  expect(await login('ann', 'secret')).toBe(429)
  expect(tried).toEqual(Array(5).fill('ann'))
})

test('an address that tries many users is limited', async () => {
  using world = setUp()
  const seen: number[] = []
  for (let n = 0; n < 52; n++) seen.push((await world.login('guess', `user-${n}`)).status)
  expect(seen).toEqual([...Array(50).fill(401), 429, 429])
})

test('the app has at most 25 lines of code, without casts', () => {
  const code = readFileSync(new URL('../../examples/logins/app.ts', import.meta.url), 'utf8')
  const lines = code.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('//'))
  expect(lines.length).toBeLessThanOrEqual(25)
  expect(code).not.toMatch(/ as |!\.|!\)/)
})
