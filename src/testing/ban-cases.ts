import { fixedWindow } from '../algorithms/windows/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { assertEqual, assertTrue } from './assert.ts'
import { ifSupported, limiterOn, play, type StoreCases } from './timeline.ts'

const hour = 3_600_000

/** Returns false for a store that does not support the command `ban`. */
export async function canBan(store: Store): Promise<boolean> {
  const unbanned = limiterOn(store, five, { name: 'asked' }).unban('nobody')
  return (await ifSupported(unbanned.then(() => true))) ?? false
}

const five = fixedWindow({ limit: 5, window: '1d' })

/** Tests of `ban` and `unban`, by their titles. These tests run only on stores that support both commands. */
export const banCases: StoreCases = {
  'a banned key is refused until the ban ends, and takes nothing': async (fixture) => {
    const limiter = limiterOn(fixture.store, five)
    await limiter.consume('k')
    await limiter.ban('k', '1h', { reason: 'scans \ud83d\ude80' })
    const banned = { until: fixture.clock.milliseconds + hour, scope: 'default', reason: 'scans \ud83d\ude80' }
    for (const decision of [
      await limiter.consume('k'),
      await limiter.peek('k'),
      (await limiter.reserve('k')).decision,
      (await limiter.reserve('k', { maxWait: '2h' })).decision,
    ]) {
      const { allowed, policy, remaining, policies } = decision
      assertEqual([allowed, policy, remaining, decision.ban], [false, 'ban', 0, banned])
      assertEqual(policies[0]?.remaining, 4, 'the verdicts are those of a peek')
    }
    await play(fixture, limiter)`
       consume other -> ok 4
       3599999: consume k -> no 0 by ban for 1 in default: scans \ud83d\ude80
       3600000: consume k -> ok 3`
  },

  'charges, refunds and settlements work during a ban, and tell it': async (fixture) => {
    const limiter = limiterOn(fixture.store, five)
    const reservation = await limiter.reserve('k', { cost: 3 })
    await play(fixture, limiter)`
       ban k Infinity
       charge k -> ok 1 in default
       refund k -> ok 2 in default`
    await reservation.settle(1)
    assertEqual((await limiter.refund('other')).resetAfter, 0)
    assertEqual((await limiter.refund('k')).resetAfter, Infinity)
    await limiter.charge('k')
    await play(fixture, limiter)`
       consume k -> no 0 by ban for Infinity in default
       unban k
       consume k -> ok 3`
  },

  'a second ban replaces the first, unban and reset lift it, and Infinity lasts': (fixture) =>
    play(fixture, limiterOn(fixture.store, five))`
       ban k 2h first
       peek k -> no 0 by ban for 7200000 in default: first
       ban k 1h
       peek k -> no 0 by ban for 3600000 in default
       ban k 3h
       peek k -> no 0 by ban for 10800000 in default
       unban k
       peek k -> ok 5
       consume k -> ok 4
       ban k Infinity
       ${300 * 24 * hour}: peek k -> no 0 by ban for Infinity in default
       reset k
       peek k -> ok 5
       ban k 366d
       ${666 * 24 * hour - 1}: peek k -> no 0 by ban for 1 in default
       unban k
       unban k
       peek k -> ok 5`,

  'a call is refused if any of its keys is banned': async (fixture) => {
    const policies = ['address', 'user'].map((scope) => fixedWindow({ name: scope, scope, limit: 5, window: '1d' }))
    const limiter = limiterOn(fixture.store, policies)
    await play(fixture, limiter)`
       ban -,u 1h
       consume a,u -> no 0 by ban for 3600000 in user
       consume a,v -> ok 4
       ban a,- 2h longer
       consume a,u -> no 0 by ban for 7200000 in address: longer`
    const { policies: verdicts } = await limiter.peek({ address: 'a', user: 'u' })
    assertEqual([verdicts[0]?.remaining, verdicts[1]?.remaining], [4, 5], 'nothing was taken under either scope')
    await play(fixture, limiter)`
       unban a,-
       3599999: consume a,u -> no 0 by ban for 1 in user
       3600000: consume a,u -> ok 3
       ban a,u 1h
       consume a,v -> no 0 by ban for 3600000 in address
       consume b,u -> no 0 by ban for 3600000 in user`
  },

  'unban lifts the ban of a penalty, which counts anew and knows its past bans': (fixture) => {
    const penalty = { after: 2, within: '1h', ban: ['1h', '10h'] }
    return play(fixture, limiterOn(fixture.store, fixedWindow({ limit: 1, window: '10s' }), { penalty }))`
       consume k -> ok 0
       consume k -> no 0 by 10s for 10000
       consume k -> no 0 by penalty for 3600000
       ban k 2h
       unban k
       10000: consume k -> ok 0
       consume k -> no 0 by 10s for 10000
       consume k -> no 0 by penalty for 36000000`
  },

  'a ban by a penalty holds under the next plan, whose longest ban bounds it': async (fixture) => {
    const policies = fixedWindow({ limit: 9, window: '1h' })
    const untilWindow = { after: 1, within: '1h', until: 'window' } as const
    const limiter = limiterOn(fixture.store, policies, { penalty: untilWindow })
    const timed = limiter.withPlan({ policies, penalty: { after: 1, within: '1h', ban: ['1s', '10s'] } })
    await play(fixture, limiter)`
       consume k 8 -> ok 1
       consume k 2 -> no 0 by 1h for 3600000
       peek k -> no 0 by penalty for 3600000`
    await play(fixture, timed)`
       peek k -> no 0 by penalty for 10000
       4000: peek k -> no 0 by penalty for 6000`
    await play(fixture, limiter)`4000: peek k -> no 0 by penalty for 3596000`
    await play(fixture, timed)`
       9999: peek k -> no 0 by penalty for 1
       10000: consume k -> ok 0
       consume other 10 -> no 0 by 1h for Infinity`
    await play(fixture, limiter)`10000: peek other -> no 0 by penalty for 1000`
    const { resetAfter } = await limiter.peek('other')
    assertEqual(resetAfter, 11_000, 'the plan that banned the key remembers the ban')
  },

  'a ban holds under every plan, on every key, and never for another': async ({ store }) => {
    const limiter = limiterOn(store, five)
    const plan = limiter.withPlan(fixedWindow({ limit: 100, window: '1h', name: 'pro' }))
    const both = async () => [(await limiter.consume('k')).allowed, (await plan.consume('k')).allowed]
    await limiter.consume('k')
    await plan.ban('k', '1h')
    assertEqual(await both(), [false, false])
    await limiter.unban('k')
    assertEqual(await both(), [true, true])
    const keys = ['', ' ', 'K', 'k:', '{k}', '*', '\ud800', 'k\0', '__proto__', 'k'.repeat(10_000)]
    for (const key of keys) await limiter.ban(key, '1h')
    const decisions = await Promise.all([...keys, 'k'].map((key) => limiter.peek(key)))
    const others = decisions.filter(({ ban }) => ban === undefined)
    assertTrue(others.length === 1 && others[0] === decisions.at(-1), 'each of them is banned, and no other')
  },

  'a clock that goes back leaves a ban, and lengthens none': (fixture) => {
    fixture.at(100 * hour)
    return play(fixture, limiterOn(fixture.store, five))`
       ban k 1h
       ${100 * hour - 30_000}: consume k -> no 0 by ban for 3630000 in default
       ${50 * hour}: consume k -> no 0 by ban for 3600000 in default
       ${51 * hour}: consume k -> ok 4`
  },
}
