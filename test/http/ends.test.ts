import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RateLimiter, type Store } from '../../src/index.ts'
import type { Command } from '../../src/store.ts'
import { remoteStore } from '../support/async-store.ts'
import { contract, hangUp, signal, stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { passLeases, untilUsed, upgrade, used } from '../support/leases.ts'

/* No lease lives longer than its owner: five requests end in every way there is, and three leases later nothing is used. */

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const keys = () => 'k'
const five = Array.from({ length: 5 }, (_, n) => n)

contract((app, lacks) => {
  const limited = () => {
    const { store, clock } = stillStore()
    return { limiter: new RateLimiter({ policies: '10 at once lease 3s', store }), clock }
  }

  test('five requests that are answered use nothing afterwards', async () => {
    const { limiter, clock } = limited()
    const { url, handled } = await app({ limiter, keys })
    await Promise.all(five.map(() => get(url)))
    await untilUsed(limiter, 0)
    await passLeases(clock, 3)
    expect([handled(), await used(limiter)]).toEqual([5, 0])
  })

  test('five requests whose handler throws use nothing afterwards', async () => {
    const { limiter, clock } = limited()
    const { url, handled } = await app({ limiter, keys }, { handle: () => Promise.reject(new Error('broken')) })
    await Promise.all(five.map(() => get(url)))
    await untilUsed(limiter, 0)
    await passLeases(clock, 3)
    expect([handled(), await used(limiter)]).toEqual([5, 0])
  })

  test('five requests without an answer are in flight until their clients leave, and then use nothing', async () => {
    const { limiter, clock } = limited()
    const { url, handled } = await app({ limiter, keys }, { handle: () => new Promise<number>(() => undefined) })
    const leave = signal()
    const left = five.map(() => hangUp(url, leave.promise))
    await until(() => handled() === 5)
    await passLeases(clock, 3)
    expect(await used(limiter)).toBe(5)
    leave.give()
    await Promise.all(left)
    await untilUsed(limiter, 0)
    await passLeases(clock, 3)
    expect([handled(), await used(limiter)]).toEqual([5, 0])
  })

  test('five requests whose clients leave before they are answered use nothing afterwards', async () => {
    const { limiter, clock } = limited()
    const [begun, answer] = [signal(), signal()]
    const { url, handled } = await app({ limiter, keys }, { handle: () => answer.promise.then(() => 200) })
    const left = five.map(() => hangUp(url, begun.promise))
    await until(() => handled() === 5)
    begun.give()
    await Promise.all(left)
    await untilUsed(limiter, 0)
    answer.give()
    await passLeases(clock, 3)
    expect([handled(), await used(limiter)]).toEqual([5, 0])
  })

  test.each([
    ['at once', 'units in flight', { policies: ['10 at once lease 3s', '10/1m'] }, 5],
    ['at once', 'an estimate to settle', { policies: '10/1m', settle: true, cost: 2 }, 0],
    ['later', 'units in flight', { policies: ['10 at once lease 3s', '10/1m'] }, 5],
    ['later', 'an estimate to settle', { policies: '10/1m', settle: true, cost: 2 }, 0],
  ] as const)(
    'of five requests whose clients leave before the decision, which comes %s, no handler runs with %s',
    async (when, _, options, counted) => {
      const { store, clock } = stillStore()
      const [arrived, answer] = [signal(), signal()]
      let asked = 0
      const waits = async () => {
        asked++
        if (asked === 5) arrived.give()
        await answer.promise
      }
      const slow: Store = remoteStore((terms) => {
        const ledger = store.open(terms)
        const run = async (command: Command): Promise<never> => {
          if (command.verb === 'reserve' && when === 'later') await waits()
          return (await ledger.run(command)) as never
        }
        return { run: run as never }
      })
      const keyLater = async () => {
        if (when === 'at once') await waits() // stands for an authentication before the decision
        return 'k'
      }
      const { limiter, url, handled, connections } = await app({
        store: slow,
        name: 'left',
        keys: keyLater,
        ...options,
      })
      const left = five.map(() => hangUp(url, arrived.promise))
      await Promise.all(left)
      await until(() => asked === 5)
      await vi.waitFor(async () => expect(await connections()).toBe(0))
      answer.give()
      const rate = async () => (await (limiter as RateLimiter).usage('k')).policies.map(({ used }) => used)
      await vi.waitFor(async () => expect(await rate()).toEqual(counted === 0 ? [0] : [0, counted]))
      await passLeases(clock, 3)
      expect(handled()).toBe(0)
      expect(await get(url)).toMatchObject({ status: 200 })
      expect(handled()).toBe(1)
    },
  )

  test('a limit that enforces nothing stops no request whose client has left', async () => {
    for (const options of [{ policies: '10 at once lease 3s' }, { policies: '10/1m', settle: true }]) {
      const [arrived, answer] = [signal(), signal()]
      let asked = 0
      const keyLater = async () => {
        asked++
        if (asked === 5) arrived.give()
        await answer.promise
        return 'k'
      }
      const { url, handled, connections } = await app({
        ...options,
        store: stillStore().store,
        keys: keyLater,
        enforce: 0,
      })
      await Promise.all(five.map(() => hangUp(url, arrived.promise)))
      await vi.waitFor(async () => expect(await connections()).toBe(0))
      answer.give()
      await until(() => handled() === 5)
    }
  })

  test('five requests that are upgraded use nothing once they are closed', async () => {
    const { limiter, clock } = limited()
    const { url, handled } = await app({ limiter, keys }, { handle: () => 101 })
    const sockets = await Promise.all(five.map(() => upgrade(url)))
    await until(() => handled() === 5)
    for (const socket of sockets) socket.end()
    await untilUsed(limiter, 0)
    await passLeases(clock, 3)
    expect([handled(), await used(limiter)]).toEqual([5, 0])
  })
  if (!lacks('the end of a pipelined request')) {
    test('five requests that a client has pipelined use nothing once it has left, though no handler answers', async () => {
      const { limiter, clock } = limited()
      const { url, handled } = await app({ limiter, keys }, { handle: () => new Promise<number>(() => undefined) })
      const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5))
      await until(() => handled() === 5)
      await passLeases(clock, 3)
      expect(await used(limiter)).toBe(5)
      socket.destroy()
      await untilUsed(limiter, 0)
      await passLeases(clock, 3)
      expect([handled(), await used(limiter)]).toEqual([5, 0])
    })
  }
})
