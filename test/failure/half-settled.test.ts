/* A settlement counts in one scope and fails in the other, in a store that writes each key by itself. No unit is given back or taken twice. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { fixedWindow, type OnStoreError, RateLimiter } from '../../src/index.ts'
import { MapDatabase } from '../support/map-store.ts'
import { seededRandom } from '../support/seeded-random.ts'

const policies = ['user', 'team'].map((scope) => fixedWindow({ name: scope, scope, limit: 100, window: '5h' }))
const key = { user: 'ann', team: 'acme' }

/** A limiter with a reservation of 20 units after 30 used ones. While a scope is named as lost, others change its keys before each swap. */
async function started(onStoreError: OnStoreError) {
  const database = new MapDatabase()
  const faults = { lost: '', broken: '' }
  database.before = (name) => {
    const row = database.texts.get(name)
    if (row !== undefined && faults.lost !== '' && name.includes(faults.lost)) row.revision++
    if (faults.broken !== '' && name.includes(faults.broken)) throw new Error('broken')
  }
  const limiter = new RateLimiter({ name: 'api', policies, store: database.store({ retries: 1 }), onStoreError })
  const elsewhere = new RateLimiter({ name: 'api', policies, store: database.store() })
  await limiter.consume(key, { cost: 30 })
  const reservation = await limiter.reserve(key, { cost: 20 })
  const used = async () => {
    Object.assign(faults, { lost: '', broken: '' })
    const seen = async () => (await limiter.peek(key)).policies.map((policy) => policy.used)
    await seen()
    for (let n = 0; n < 50; n++) await turn()
    return await seen()
  }
  return { limiter, elsewhere, reservation, faults, used }
}

const modes = ['throw', 'local', 'open', 'closed'] as const

describe.each(['user', 'team'])('if the keys of %s cannot be written', (lost) => {
  /** The used units, first of the scope that counted. */
  const ordered = (used: readonly number[]) => (lost === 'team' ? used : [...used].reverse())

  test.each(modes)('a cancellation gives each unit back once, with %s', async (mode) => {
    const { reservation, faults, used } = await started(mode)
    faults.lost = lost
    await reservation?.cancel().catch(() => undefined)
    expect(ordered(await used())).toEqual([30, 30])
  })

  test('a refund gives each unit back once, also units that this process has admitted', async () => {
    const { limiter, faults, used } = await started('local')
    faults.broken = 'api'
    expect((await limiter.consume(key, { cost: 10 })).source).toBe('fallback')
    expect(await used()).toEqual([60, 60])
    faults.lost = lost
    await limiter.refund(key, { cost: 10 })
    expect(await used()).toEqual([50, 50])
  })

  test.each(modes)('a settlement below the estimate gives each unit back once, with %s', async (mode) => {
    const { reservation, faults, used } = await started(mode)
    faults.lost = lost
    await reservation?.settle(5).catch(() => undefined)
    expect(ordered(await used())).toEqual([35, 35])
  })

  test.each(modes)('a settlement above the estimate is charged at most once, with %s', async (mode) => {
    const { reservation, faults, used } = await started(mode)
    faults.lost = lost
    await reservation?.settle(35).catch(() => undefined)
    expect(ordered(await used())).toEqual([65, mode === 'local' ? 65 : 50])
  })

  test.each(modes)('a cancellation in doubt gives no unit back twice, with %s', async (mode) => {
    const { reservation, faults, used } = await started(mode)
    faults.broken = lost
    await reservation?.cancel().catch(() => undefined)
    expect(ordered(await used())).toEqual([30, 50])
  })

  test('the error of a refund names the scopes', async () => {
    const { limiter, faults, used } = await started('throw')
    faults.lost = lost
    const other = lost === 'user' ? 'team' : 'user'
    const error = await limiter.refund(key, { cost: 10 }).catch((thrown) => thrown)
    expect([error.uncounted, error.scopes]).toEqual([undefined, { counted: [other], uncounted: [lost] }])
    expect(ordered(await used())).toEqual([40, 50])
  })

  test.each(['reset', 'ban', 'unban'] as const)('the error of %s names the scopes', async (verb) => {
    const { limiter, faults } = await started('throw')
    if (verb === 'unban') await limiter.ban(key, '1h')
    faults.lost = lost
    const other = lost === 'user' ? 'team' : 'user'
    const error = await (verb === 'ban' ? limiter.ban(key, '1h') : limiter[verb](key)).catch((thrown) => thrown)
    expect([error.uncounted, error.scopes]).toEqual([undefined, { counted: [other], uncounted: [lost] }])
  })

  test.each(['local', 'open'] as const)(
    'with %s, a reset of one scope waits for the store and the other scope is not reset twice',
    async (mode) => {
      const { limiter, elsewhere, faults, used } = await started(mode)
      faults.lost = lost
      await limiter.reset(key)
      faults.lost = ''
      await elsewhere.charge({ ...key, [lost]: 'another' }, { cost: 7 })
      expect(ordered(await used())).toEqual([7, 0])
    },
  )

  test('with local, a refund takes nothing from what the store has given back', async () => {
    const { limiter, faults, used } = await started('local')
    faults.lost = lost
    await limiter.refund(key, { cost: 10 })
    expect(ordered(await used())).toEqual([40, 50])
  })
})

describe('a store that fails for one scope, while this process gives units back and charges the store for others', () => {
  const ways: [string, number, (limiter: RateLimiter) => Promise<unknown>][] = [
    ['a refund', 30, (limiter) => limiter.refund(key, { cost: 4 })],
    ['a cancelled reservation', 34, async (limiter) => await (await limiter.reserve(key, { cost: 2 })).cancel()],
    ['a reservation settled lower', 35, async (limiter) => await (await limiter.reserve(key, { cost: 2 })).settle(1)],
  ]

  test.each(ways)('%s counts once, however long each read and each write takes', async (_, used, giveBack) => {
    const found = new Set<string>()
    for (let seed = 1; seed <= 150; seed++) {
      const random = seededRandom(seed)
      const pause = async () => {
        for (let n = random(6); n > 0; n--) await null
      }
      const database = new MapDatabase(pause)
      let broken = ''
      const read = async (name: string) => {
        const fails = broken !== '' && name.includes(broken)
        await pause()
        if (fails) throw new Error('broken')
        return await database.read(name)
      }
      const limiter = new RateLimiter({ name: 'api', policies, store: database.store({ read }) })
      await limiter.consume(key, { cost: 30 })
      broken = random(2) === 0 ? 'user' : 'team'
      await limiter.consume(key, { cost: 4 })
      for (let n = random(3); n > 0; n--) await turn()
      await giveBack(limiter)
      for (let n = random(3); n > 0; n--) await turn()
      broken = ''
      for (let n = 0; n < 4; n++) await Promise.all([limiter.peek(key), turn()])
      found.add((await limiter.peek(key)).policies.map((policy) => policy.used).join())
    }
    expect([...found]).toEqual([`${used},${used}`])
  })
})

test('the failure of a half settlement says nothing about calls that are not sent because of it', async () => {
  const { limiter, faults, used } = await started('local')
  const reserve = async () => await limiter.reserve(key, { cost: 1 })
  const reservations = [
    await reserve(),
    await reserve(),
    await reserve(),
    await reserve(),
    await reserve(),
    await reserve(),
  ]
  faults.lost = 'team'
  for (const each of reservations) await each.settle(0) // five failures open the breaker, so the last one is not sent
  const tried = [await limiter.consume(key, { cost: 60 }), await limiter.consume(key, { cost: 60 })]
  expect(tried.map(({ source, allowed }) => `${source} ${allowed}`)).toEqual(['fallback true', 'fallback false'])
  expect(tried[0]?.policies.map((policy) => policy.used)).toEqual([60, 60])
  await expect.poll(used, { timeout: 5000 }).toEqual([110, 110])
})

test('a call that is not sent rejects with an error that names no scopes', async () => {
  const { limiter, reservation, faults } = await started('throw')
  faults.lost = 'team'
  for (let n = 0; n < 5; n++) await limiter.refund(key, { cost: 1 }).catch(() => undefined)
  const error = await reservation?.cancel().catch((thrown) => thrown)
  expect([limiter.health().state, error.uncounted, error.scopes]).toEqual(['open', true, undefined])
  expect(error.message).toMatch(
    /^The call was not sent, because the store does not respond\. The earlier call failed: /,
  )
})

describe('calendar windows that this process and the store see at different times', () => {
  const days = ['user', 'team'].map((scope) => {
    return calendarWindow({ name: scope, scope, limit: 100, every: 'day', timeZone: 'UTC' })
  })

  test.each([
    ['cancel', 'lost', [50, 50]],
    ['settle 5', 'lost', [55, 55]],
    ['settle 35', 'lost', [85, 85]],
    ['cancel', 'in doubt', [50, 50]],
    ['refund', 'in doubt', [50, 50]],
  ])('with local, %s takes and gives back each unit once, if team is %s', async (act, fault, expected) => {
    const database = new MapDatabase()
    let [lost, replies] = ['', 1]
    database.before = (name) => {
      const row = database.texts.get(name)
      if (row !== undefined && lost !== '' && name.includes(lost)) row.revision++
    }
    const swap = database.swap.bind(database)
    database.swap = async (...given) => {
      const done = await swap(...given)
      if (fault === 'in doubt' && lost === '-' && given[0].includes('team') && replies-- > 0)
        throw new Error('no reply')
      return done
    }
    const store = database.store({ retries: 1, clock: () => Date.now() * 1000 + 5 * 86_400_000_000 })
    const limiter = new RateLimiter({ name: 'api', policies: days, store, onStoreError: 'local' })
    await limiter.consume(key, { cost: 50 })
    const reservation = await limiter.reserve(key, { cost: 20 })
    lost = fault === 'lost' ? 'team' : '-'
    if (act === 'refund') await limiter.refund(key, { cost: 20 })
    else await (act === 'cancel' ? reservation.cancel() : reservation.settle(Number(act.slice(7))))
    lost = ''
    const used = async () => (await limiter.peek(key)).policies.map((policy) => policy.used)
    await used()
    for (let n = 0; n < 50; n++) await turn()
    expect(await used()).toEqual(expected)
  })
})

test('if no key can be written, the whole settlement is sent again', async () => {
  const { reservation, faults, used } = await started('throw')
  faults.lost = 'a' // in the name of every key
  await expect(reservation?.cancel()).rejects.toMatchObject({ uncounted: true })
  expect(await used()).toEqual([30, 30])
})
