import { fixedWindow } from '../algorithms/windows/index.ts'
import { type Reservation, settleAndHold } from '../limiter/index.ts'
import { assertEqual } from './assert.ts'
import { limiterOn, play, type StoreCases } from './timeline.ts'

const three = fixedWindow({ name: 'three', limit: 3, window: '1h' })
const penalty = { on: 'spent', ban: ['1h', '10h'] } as const

/** Tests of a penalty with `on: 'spent'`, by their titles. These tests run only on stores that support bans. */
export const spentPenaltyCases: StoreCases = {
  'the call that takes the last unit begins a ban, and a lifted ban leaves a full quota': async (fixture) => {
    const limiter = limiterOn(fixture.store, three, { penalty })
    await play(fixture, limiter)`
       0: consume k 2 -> ok 1
       consume k 2 -> no 1 by three for 3600000`
    const last = await limiter.consume('k')
    assertEqual([last.allowed, last.remaining, last.banned], [true, 0, 3_600_000])
    assertEqual(
      last.policies.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 0],
        [true, 0],
      ],
    )
    const after = await limiter.charge('k')
    assertEqual(after.banned, undefined, 'a ban begins once')
    await play(fixture, limiter)`
       1000: consume k -> no 0 by penalty for 3599000
       unban k
       consume k -> ok 1
       refund k 2 -> ok 3
       consume k 3 -> ok 0
       consume k -> no 0 by penalty for 36000000
       36000999: consume k -> no 0 by penalty for 1
       36001000: consume k -> ok 2`
  },

  'units that a reservation can give back begin no ban': async ({ store, at }) => {
    at(0)
    const limiter = limiterOn(store, three, { penalty })
    const guess = async () => limiter.reserve('k')
    const [first, second, third] = [await guess(), await guess(), await guess()]
    assertEqual((await guess()).decision.policy, 'three', 'three are in flight, and none has failed')
    await first.settle(1)
    await second.settle(1)
    assertEqual((await limiter.peek('k')).policy, 'three', 'two have failed, and the third may succeed')
    await third.cancel()
    const [fourth] = [await guess()]
    assertEqual((await limiter.peek('k')).policy, 'three')
    await fourth.settle(1)
    const { policy, retryAfter } = await limiter.peek('k')
    assertEqual([policy, retryAfter], ['penalty', 3_600_000], 'three have failed')
  },

  'a settlement that charges the last unit begins a ban': async ({ store, at }) => {
    at(0)
    const limiter = limiterOn(store, three, { penalty })
    const reservation = await limiter.reserve('k')
    await reservation.settle(3)
    assertEqual((await limiter.peek('k')).policy, 'penalty')
    const other = await limiter.reserve('other', { cost: 3 })
    await other.settle(2)
    assertEqual((await limiter.peek('other')).remaining, 1)
    assertEqual((await limiter.charge('other')).banned, 3_600_000)
    assertEqual((await limiter.peek('other')).policy, 'penalty')
  },

  'a late settlement of units that stay used begins a ban only if it charges the last unit': async ({ store, at }) => {
    at(0)
    const short = { on: 'spent', ban: '1m' } as const
    const limiter = limiterOn(store, [three, fixedWindow({ name: 'more', limit: 30, window: '1h' })], {
      penalty: short,
    })
    const kept = async (key: string, cost: number) => {
      const reservation = await limiter.reserve(key, { cost })
      await settleAndHold(reservation, 'reserved')
      return reservation
    }
    const used = async (key: string) => (await limiter.peek(key)).policies.map((policy) => policy.used)
    const isBanned = async (key: string) => (await limiter.peek(key)).policies[2]?.allowed === false
    await settleAndHold(await kept('k', 1), 2)
    assertEqual([await used('k'), await isBanned('k')], [[2, 2, 0], false])
    await settleAndHold(await kept('l', 1), 5)
    assertEqual([await used('l'), await isBanned('l')], [[5, 5, 0], true])
    await settleAndHold(await kept('m', 1), { more: 30 })
    assertEqual([await used('m'), await isBanned('m')], [[1, 30, 0], true])
    await limiter.reserve('n')
    await settleAndHold(await kept('n', 1), 2)
    assertEqual([await used('n'), await isBanned('n')], [[3, 3, 1], false], 'one unit may still come back')
    const back = await kept('o', 2)
    await limiter.charge('o', { cost: 3 })
    await limiter.unban('o')
    await settleAndHold(back, 1)
    assertEqual([await used('o'), await isBanned('o')], [[4, 4, 0], false], 'the settlement has charged nothing')
  },

  'a reset forgets the units in flight, which then count for no ban': async ({ store, at }) => {
    at(0)
    const limiter = limiterOn(store, three, { penalty })
    const old: Reservation[] = []
    for (let n = 0; n < 2; n++) old.push(await limiter.reserve('k'))
    await limiter.reset('k')
    at(1000)
    const fresh = await limiter.reserve('k', { cost: 2 })
    for (const each of old) await each.settle(1)
    await limiter.consume('k')
    assertEqual((await limiter.peek('k')).policy, 'three', 'two units are in flight')
    await fresh.settle(2)
    assertEqual((await limiter.peek('k')).policy, 'penalty')
  },

  'a ban refuses a call that costs 0 units of its policies, and takes nothing for it': async (fixture) => {
    const user = fixedWindow({ name: 'user', scope: 'user', limit: 2, window: '1h' })
    const team = fixedWindow({ name: 'team', scope: 'team', limit: 9, window: '1h' })
    const limiter = limiterOn(fixture.store, [user, team], {
      penalty: { on: 'spent', ban: '2h', extend: true, scope: 'user' },
    })
    const key = { user: 'u', team: 't' }
    const cost = { user: 0, team: 1 }
    fixture.at(0)
    assertEqual((await limiter.consume(key, { cost })).allowed, true)
    await limiter.consume(key, { cost: { user: 2, team: 0 } })
    const refusals = [await limiter.peek(key, { cost }), await limiter.consume(key, { cost: { user: 0, team: 0 } })]
    const { allowed, decision } = await limiter.reserve(key, { cost, maxWait: '1d' })
    assertEqual([allowed, ...refusals.map((refused) => refused.allowed)], [false, false, false])
    assertEqual(
      [decision, ...refusals].map(({ policy, retryAfter }) => `${policy} ${retryAfter}`),
      Array(3).fill('penalty 7200000'),
    )
    assertEqual((await limiter.peek({ team: 't' })).remaining, 8)
    fixture.at(3_600_000)
    await limiter.consume(key, { cost }) // the ban starts again
    fixture.at(7_200_000)
    assertEqual((await limiter.peek(key, { cost })).retryAfter, 3_600_000)
    fixture.at(10_800_000)
    assertEqual((await limiter.consume(key, { cost })).allowed, true)
  },

  'a process that dies keeps its units in flight for two windows at most': async ({ store, at }) => {
    at(0)
    const limiter = limiterOn(store, three, { penalty: { on: 'spent', ban: '5h' } })
    await limiter.reserve('k')
    await limiter.consume('k', { cost: 2 })
    assertEqual((await limiter.peek('k')).policy, 'three')
    at(3_600_000)
    await limiter.consume('k', { cost: 3 })
    assertEqual((await limiter.peek('k')).policy, 'three', 'the unit may still be in flight')
    at(7_200_000)
    await limiter.consume('k', { cost: 3 })
    assertEqual((await limiter.peek('k')).policy, 'penalty')
  },

  'a cancelled reservation leaves nothing: the next unit in flight is kept for two windows again': async ({
    store,
    at,
  }) => {
    at(0)
    const limiter = limiterOn(store, three, { penalty })
    const cancelled = await limiter.reserve('k')
    await cancelled.cancel()
    for (const time of [1_800_000, 5_400_000]) {
      at(time)
      const { decision, cancel } = await limiter.reserve('k')
      assertEqual(decision.resetAfter, 7_200_000)
      await cancel()
    }
  },

  'only a policy with the scope of the penalty begins a ban, and only its key is banned': async (fixture) => {
    const address = fixedWindow({ name: 'address', scope: 'address', limit: 4, window: '1h' })
    const user = fixedWindow({ name: 'user', scope: 'user', limit: 2, window: '1h' })
    const limiter = limiterOn(fixture.store, [address, user], { penalty: { ...penalty, scope: 'user' } })
    await play(fixture, limiter)`
       0: consume a,u -> ok 1
       consume a,u -> ok 0
       consume a,u -> no 0 by penalty for 3600000
       consume a,v -> ok 1
       consume a,w -> ok 0
       consume a,x -> no 0 by address for 3600000
       unban -,u
       consume b,u -> ok 1`
    assertEqual((await limiter.peek({ user: 'v' })).allowed, true)
  },

  'each plan has its own penalty, and a ban holds under every plan': async (fixture) => {
    const limiter = limiterOn(fixture.store, three, { penalty })
    const more = limiter.withPlan({ policies: fixedWindow({ name: 'three', limit: 5, window: '1h' }) })
    const never = limiter.withPlan({ policies: three, penalty: false })
    await play(fixture, never)`0: consume k 3 -> ok 0`
    await play(fixture, more)`0: consume k -> ok 1`
    await play(fixture, limiter)`0: consume k -> no 0 by three for 3600000`
    await play(fixture, more)`
       0: consume k -> ok 0
       consume k -> no 0 by penalty for 3600000`
    await play(fixture, limiter)`0: consume k -> no 0 by penalty for 3600000`
  },

  'units that a plan holds open are forgotten when that plan promises, under every plan': async (fixture) => {
    const limiter = limiterOn(fixture.store, three, { penalty })
    const minute = limiter.withPlan({ policies: fixedWindow({ name: 'three', limit: 3, window: '1m' }), penalty })
    await play(fixture, minute)`
       0: consume k 3 -> ok 0
       unban k
       consume l 3 -> ok 0
       unban l`
    for (const key of ['k', 'l']) await minute.reserve(key)
    fixture.at(61_000)
    const second = await minute.reserve('l')
    await play(fixture, limiter)`
       119999: consume k 3 -> ok 0
       consume k -> no 0 by three for 3480001`
    fixture.at(121_000)
    await second.cancel()
    await play(fixture, limiter)`
       121000: consume l 3 -> ok 0
       consume l -> no 0 by penalty for 36000000`
  },

  'a ban by hand and a spent quota do not shorten each other': async (fixture) => {
    const limiter = limiterOn(fixture.store, three, { penalty })
    const reservation = await limiter.reserve('k', { cost: 3 })
    await limiter.ban('k', '5h')
    await reservation.settle(3)
    await play(fixture, limiter)`
       0: consume k -> no 0 by ban for 18000000 in default
       unban k
       consume k -> ok 2`
  },

  'with restart, a short ban gives the quota back; without, the window goes on': async (fixture) => {
    const short = { on: 'spent', ban: '1m' } as const
    const limiter = limiterOn(fixture.store, three, { penalty: short })
    await play(fixture, limiter)`
       0: consume k 3 -> ok 0
       59999: consume k -> no 0 by three for 3540001
       60000: consume k -> no 0 by three for 3540000`
    const restarted = limiter.withPlan({ policies: three, penalty: { ...short, restart: true } })
    await play(fixture, restarted)`
       0: consume l 3 -> ok 0
       59999: consume l -> no 0 by penalty for 1
       60000: consume l -> ok 2`
    const { resetAfter, policies } = await restarted.consume('m', { cost: 3 })
    assertEqual([resetAfter, ...policies.map((verdict) => verdict.resetAfter)], [120_000, 60_000, 120_000])
  },
}
