/* A penalty with `on: 'spent'`. The contract of stores has its timelines: src/testing/spent-penalty-cases.ts. */
import { describe, expect, test } from 'vitest'
import {
  concurrency,
  fixedWindow,
  memoryStore,
  type PenaltyOptions,
  type PolicyLikes,
  RateLimiter,
  type Reservation,
  slidingLog,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import fc from '../support/fast-check.ts'

const hour = 3_600_000
const quarter = 900_000
const start = Date.UTC(2026, 0, 1)

function setUp(policies: PolicyLikes = '5/15m sliding-log', more: Partial<PenaltyOptions> = {}) {
  const clock = new ManualClock(start)
  const penalty: PenaltyOptions = { on: 'spent', ban: '1h', ...more }
  const limiter = new RateLimiter({ name: 'logins', policies, penalty, store: memoryStore({ clock: clock.now }) })
  return { clock, limiter }
}

describe('5 failures in 15 minutes, and an hour', () => {
  test('the fifth unit begins the ban, and each call is refused until the ban ends', async () => {
    const { clock, limiter } = setUp()
    for (let left = 4; left >= 1; left--) expect((await limiter.consume('k')).remaining).toBe(left)
    const fifth = await limiter.consume('k')
    expect(fifth).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0, banned: hour, resetAfter: 2 * hour })
    expect(fifth.policies).toMatchObject([
      { name: '15m', allowed: true, remaining: 0, used: 5 },
      { name: 'penalty', allowed: true, remaining: 0, retryAfter: 0 },
    ])
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, policy: 'penalty', retryAfter: hour })
    clock.advance(hour - 1)
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, policy: 'penalty', retryAfter: 1 })
    clock.advance(1)
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 4 })
  })

  test('a client that waits as long as it is told is banned all the same', async () => {
    const { clock, limiter } = setUp()
    let guesses = 0
    while (clock.milliseconds < start + 5 * hour) {
      const { allowed, retryAfter } = await limiter.consume('k')
      if (allowed) guesses++
      else clock.advance(retryAfter)
    }
    expect(guesses).toBe(25)
  })

  test('units that left the window begin no ban', async () => {
    const { clock, limiter } = setUp()
    for (let n = 0; n < 100; n++) {
      expect((await limiter.consume('k')).banned).toBeUndefined()
      clock.advance(quarter / 4)
    }
  })

  test('no decision but the first says that a ban began', async () => {
    const { limiter } = setUp('2/1h')
    const decisions = [await limiter.consume('k'), await limiter.consume('k'), await limiter.charge('k')]
    decisions.push(await limiter.peek('k'), await limiter.consume('k'), await limiter.refund('k'))
    expect(decisions.map(({ banned }) => banned)).toEqual([undefined, hour, ...Array(4).fill(undefined)])
  })

  test('operators read why, lift the ban, and the key can be used', async () => {
    const { limiter } = setUp()
    await limiter.consume('k', { cost: 5 })
    const { refused, policies } = await limiter.inspect('k')
    expect(refused).toBe(true)
    expect(policies[1]?.words).toBe('Banned for 1 h more, because its quota was spent (ban 1).')
    await limiter.unban('k')
    expect((await limiter.peek('k')).remaining).toBe(5)
    expect((await limiter.inspect('k')).policies[1]?.words).toBe(
      'Not banned: a ban begins when the quota is spent; the last ban is remembered for 1 h more.',
    )
  })

  test('each ban is longer, until the last ban is forgotten', async () => {
    const { clock, limiter } = setUp('5/15m sliding-log', { ban: ['1h', '1d'], forget: '2d' })
    const spend = async () => (await limiter.consume('k', { cost: 5 })).banned
    expect(await spend()).toBe(hour)
    clock.advance(hour)
    expect(await spend()).toBe(24 * hour)
    clock.advance(72 * hour)
    expect(await spend()).toBe(hour)
  })

  test('with extend, a call during the ban starts it again', async () => {
    const { clock, limiter } = setUp('1/15m', { extend: true })
    await limiter.consume('k')
    clock.advance(hour / 2)
    expect((await limiter.consume('k')).retryAfter).toBe(hour)
  })
})

describe('what begins no ban', () => {
  test('refusals, peeks, refunds, and a call of other policies', async () => {
    const minute = fixedWindow({ name: 'minute', limit: 2, window: '1m', scope: 'address' })
    const { limiter } = setUp([minute, slidingLog({ name: 'user', limit: 2, window: '1h', scope: 'user' })], {
      scope: 'user',
    })
    const key = { address: 'a', user: 'u' }
    await limiter.consume(key, { cost: { minute: 0, user: 1 } })
    await limiter.consume(key, { cost: 2 })
    await limiter.consume(key, { cost: { minute: 2, user: 0 } })
    await limiter.refund(key, { cost: { minute: 0, user: 1 } })
    await limiter.consume(key)
    const { policies } = await limiter.peek(key)
    expect(policies.map(({ used, allowed }) => [used, allowed])).toEqual([
      [2, false],
      [0, true],
      [0, true],
    ])
  })

  test('a policy of units in flight', async () => {
    const { limiter } = setUp([concurrency({ name: 'slots', limit: 1, lease: '1m' }), '5/1h'])
    await limiter.reserve('k')
    expect((await limiter.peek('k')).policy).toBe('slots')
  })

  test('a shadow policy, but a penalty over shadow policies alone reports the ban and refuses nobody', async () => {
    const { limiter } = setUp([fixedWindow({ name: 'trial', limit: 1, window: '1h', shadow: true }), '9/1h'])
    expect((await limiter.consume('k')).banned).toBeUndefined()
    expect((await limiter.consume('k')).allowed).toBe(true)
    const trial = setUp(fixedWindow({ name: 'trial', limit: 1, window: '1h', shadow: true })).limiter
    expect((await trial.consume('k')).banned).toBeUndefined()
    const { allowed, policies } = await trial.consume('k')
    expect([allowed, policies.at(-1)]).toMatchObject([true, { name: 'penalty', allowed: false, retryAfter: hour }])
  })
})

describe('wrong options', () => {
  test.each<[Partial<PenaltyOptions> | PenaltyOptions, string]>([
    [{ after: 3 }, "on: 'spent' and after exclude each other"],
    [{ within: '1m' }, "on: 'spent' and within exclude each other"],
    [{ until: 'window' }, "on: 'spent' and until exclude each other"],
    [{ scope: 'user' }, 'needs a policy with the scope "user"'],
    [{ on: 'never' as never }, "on must be 'refused' or 'spent'"],
  ])('%j', (more, message) => {
    expect(() => setUp('5/1h', more)).toThrow(message)
  })

  test('no policy whose units can be spent', () => {
    expect(() => setUp(concurrency({ limit: 1, lease: '1m' }))).toThrow(
      expect.objectContaining({ code: 'HEADGATE_PENALTY' }),
    )
  })
})

/** A login: when it comes, how long it takes, and whether the password is right. */
const logins = fc.array(
  fc.record({
    pause: fc.nat(200_000),
    takes: fc.oneof(fc.constant(0), fc.nat(600_000)),
    fails: fc.nat(3).map((n) => n > 0),
  }),
  { minLength: 20, maxLength: 60 },
)

/**
 * Logins that overlap. The model knows only the times of the failures and of the logins under way: the limiter bans exactly at the failure
 * that is the fifth within 15 minutes, and admits while fewer than five have failed or are under way.
 */
test('for random logins, at most 5 failures are admitted in 15 minutes, and exactly the fifth begins the ban', async () => {
  let bans = 0
  await fc.assert(
    fc.asyncProperty(logins, async (all) => {
      const { clock, limiter } = setUp()
      let units: { at: number; open: boolean }[] = []
      let bannedUntil = 0
      const ends: { at: number; fails: boolean; unit: { at: number; open: boolean }; reservation: Reservation }[] = []
      const used = (now: number) => units.filter(({ at }) => now - at < quarter)
      const endUntil = async (time: number) => {
        ends.sort((a, b) => a.at - b.at)
        while (ends[0] !== undefined && ends[0].at <= time) {
          const { at, fails, unit, reservation } = ends.shift() as (typeof ends)[number]
          clock.set(at)
          unit.open = false
          if (fails) await reservation.settle(1)
          else await reservation.cancel()
          if (!fails) units = units.filter((each) => each !== unit)
          else if (bannedUntil <= at && used(at).filter(({ open }) => !open).length >= 5) {
            bannedUntil = at + hour
            units = []
            bans++
          }
          expect((await limiter.peek('k')).policies[1]).toMatchObject({ retryAfter: Math.max(0, bannedUntil - at) })
        }
      }
      let now = start
      for (const { pause, takes, fails } of all) {
        now += pause
        await endUntil(now)
        clock.set(now)
        const reservation = await limiter.reserve('k')
        expect(reservation.allowed).toBe(now >= bannedUntil && used(now).length < 5)
        if (!reservation.allowed) continue
        const unit = { at: now, open: true }
        units.push(unit)
        ends.push({ at: now + takes, fails, unit, reservation })
      }
      await endUntil(Infinity)
    }),
    { numRuns: 200 },
  )
  expect(bans).toBeGreaterThan(50)
})
