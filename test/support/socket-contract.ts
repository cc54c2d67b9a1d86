import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { memoryStore, type OnStoreError, RateLimiter, type Store, tokenBucket } from '../../src/index.ts'
import type { Key } from '../../src/limiter/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import { heldStore, shuffledStore } from './answering-stores.ts'
import { asyncStore } from './async-store.ts'
import type { CommonOptions, LimitedServer, SocketLibrary } from './socket-library.ts'

/** Waits for what crosses the network. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 2 })

const texts = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `m${from + n}`)

/** What holds for the messages of every library, over real sockets. */
export function describeMessages(name: string, library: SocketLibrary): void {
  let clock: ManualClock

  beforeEach(() => {
    clock = new ManualClock()
    forgetWarnings()
  })

  afterEach(() => {
    expect(clock.sleeping, 'timers that are left').toBe(0)
  })

  async function serve(
    policies: string | RateLimiter,
    options?: CommonOptions,
    listens?: boolean,
  ): Promise<LimitedServer> {
    const server = await library.serve(policies, options, listens)
    onTestFinished(() => server.close())
    return server
  }

  const stores: [string, () => Store][] = [
    ['a synchronous store', () => memoryStore({ clock: clock.now })],
    ['an asynchronous store', () => asyncStore(memoryStore({ clock: clock.now }))],
  ]

  describe.each(stores)(`${name} on %s`, (_store, createStore) => {
    const limiterOf = (policies: string, onStoreError: OnStoreError = 'local') =>
      new RateLimiter({ policies, store: createStore(), onStoreError })

    test('drop: delivers what the limit admits, and tells the client about each other message', async () => {
      const { delivered, connect } = await serve(limiterOf('3/1h'))
      const client = await connect()
      client.send(...texts(1, 5))
      await eventually(() => expect(client.notices).toHaveLength(2))
      expect(delivered).toEqual(texts(1, 3))
      expect(client.notices[0]).toEqual({
        error: 'too_many_messages',
        message: expect.stringMatching(/^Too many messages\. Try again in \d+ seconds\.$/),
        policy: '1h',
        retryAfterMs: expect.any(Number),
      })
      clock.advance(client.notices[1]?.retryAfterMs ?? 0)
      client.send('m6')
      await eventually(() => expect(delivered).toEqual([...texts(1, 3), 'm6']))
      expect(client.ended).toBeUndefined()
    })

    test('close: closes at the first message over the limit, and delivers none after it', async () => {
      const server = await serve(limiterOf('3/1h'), { overLimit: 'close' })
      const client = await server.connect()
      client.send(...texts(1, 5))
      await eventually(() => expect(client.ended).toBe(library.closedByLimit))
      await eventually(() => expect(server.connections[0]?.closed).toBe(true))
      clock.advance('2h')
      expect(server.delivered).toEqual(texts(1, 3))
    })

    test('delay: delivers every message in order, each exactly when the limit admits it', async () => {
      const limiter = limiterOf('2/1s token-bucket')
      const { delivered, connect, connections } = await serve(limiter, { overLimit: 'delay', sleeper: clock.sleeper })
      const client = await connect()
      client.send(...texts(1, 6))
      await eventually(() => expect([delivered.length, connections[0]?.limit.waiting]).toEqual([2, 4]))
      for (const last of [3, 4, 5, 6]) {
        await eventually(() => expect(clock.sleeping).toBe(1))
        await clock.pass(499)
        expect(delivered).toEqual(texts(1, last - 1))
        await clock.pass(1)
        await eventually(() => expect(delivered).toEqual(texts(1, last)))
      }
      expect(connections[0]?.limit.waiting).toBe(0)
      client.send('m7')
      await eventually(() => expect(clock.sleeping).toBe(1))
      await clock.pass('1s')
      await eventually(() => expect(delivered).toEqual(texts(1, 7)))
      expect(client.notices).toEqual([])
    })

    test('delay: drops a message that would wait longer than maxWait, and goes on with the next one', async () => {
      const limiter = limiterOf('10/1s token-bucket')
      const options: CommonOptions = {
        overLimit: 'delay',
        sleeper: clock.sleeper,
        maxWait: '200ms',
        cost: (t) => t.length,
      }
      const { delivered, connect } = await serve(limiter, options)
      const client = await connect()
      client.send('123456', 'more-than-10-units', '1234567', '1234')
      await eventually(() => expect(client.notices.map(({ retryAfterMs }) => retryAfterMs)).toEqual([null, 300]))
      await eventually(() => expect(delivered).toEqual(['123456', '1234']))
    })

    test('delay: drops a message whose units others take until it has waited for maxWait', async () => {
      const limiter = limiterOf('1/1s token-bucket')
      const options: CommonOptions = { overLimit: 'delay', sleeper: clock.sleeper, maxWait: '2500ms', key: 'ann' }
      const { delivered, connect } = await serve(limiter, options)
      const client = await connect()
      client.send('m1', 'm2')
      for (let second = 0; second < 2; second++) {
        await eventually(() => expect(clock.sleeping).toBe(1))
        await clock.pass(900)
        await limiter.charge('ann')
        expect(client.notices).toEqual([])
        await clock.pass(100)
      }
      await eventually(() => expect(client.notices.map(({ retryAfterMs }) => retryAfterMs)).toEqual([1000]))
      expect([delivered, clock.sleeping]).toEqual([['m1'], 0])
    })

    test('one limiter counts the messages of each connection and those of each address', async () => {
      const policies = [
        tokenBucket({ name: 'mine', limit: 3, window: '1h', scope: 'connection' }),
        tokenBucket({ name: 'all', limit: 5, window: '1h', scope: 'address', label: 'total' }),
      ]
      const limiter = new RateLimiter({ policies, store: createStore() })
      const { delivered, connect } = await serve(limiter, { key: { address: '192.0.2.1' } })
      const [one, other] = [await connect(), await connect()]
      one.send(...texts(1, 4))
      await eventually(() => expect(one.notices.map(({ policy }) => policy)).toEqual(['mine']))
      other.send(...texts(5, 8))
      await eventually(() => expect(other.notices.map(({ policy }) => policy)).toEqual(['total', 'total']))
      expect(delivered).toEqual([...texts(1, 3), 'm5', 'm6'])
    })

    test('a client that vanishes leaves no timer and no message behind', async () => {
      const limiter = limiterOf('2/1s token-bucket')
      const server = await serve(limiter, { overLimit: 'delay', sleeper: clock.sleeper })
      const client = await server.connect()
      client.send(...texts(1, 4))
      await eventually(() => expect(clock.sleeping).toBe(1))
      client.vanish()
      // A paused socket does not see that its client has left. It reads again once nothing waits.
      for (let n = 0; n < 2 && !server.connections[0]?.closed; n++) await clock.pass('500ms')
      await eventually(() => expect(server.connections[0]?.closed).toBe(true))
      expect([server.connections[0]?.limit.waiting, clock.sleeping]).toEqual([0, 0])
    })
  })

  describe(`${name}`, () => {
    const warningOf = (text: string) => [
      expect.stringContaining(text),
      expect.objectContaining({ code: 'HEADGATE_MESSAGE' }),
    ]

    test('each connection has a quota of its own; a key is shared by all that have it', async () => {
      const own = await serve('2/1h')
      const shared = await serve('2/1h', { key: `${name}-ann` })
      for (const { connect, delivered } of [own, shared]) {
        for (const _ of [1, 2]) (await connect()).send('a', 'b', 'c')
        await eventually(() => expect(delivered.length).toBe(connect === own.connect ? 4 : 2))
      }
      expect(own.connections[0]?.limit.limiter).toBe(shared.connections[0]?.limit.limiter)
    })

    test('a notice does not name a policy that is not listed', async () => {
      const policies = tokenBucket({ name: 'internal', limit: 1, window: '1h', listed: false })
      const { connect } = await serve(new RateLimiter({ policies, store: memoryStore() }))
      const client = await connect()
      client.send('a', 'b')
      await eventually(() => expect(client.notices).toMatchObject([{ error: 'too_many_messages', policy: null }]))
      expect(JSON.stringify(client.notices)).not.toContain('internal')
    })

    test('the states of a closed connection are given up, whose key nobody else has', async () => {
      const store = memoryStore()
      const server = await serve(new RateLimiter({ policies: '2/1h', store }))
      const client = await server.connect()
      client.send('a')
      await eventually(() => expect(store.stats().keys).toBe(1))
      client.close()
      await eventually(() => expect(store.stats().keys).toBe(0))
    })

    test('so are those in a shared store, once it has decided on the last message; the key of others stays', async () => {
      const memory = memoryStore()
      const held = heldStore(memory)
      const policies = [
        tokenBucket({ name: 'mine', limit: 3, window: '1h', scope: 'connection' }),
        tokenBucket({ name: 'all', limit: 5, window: '1h', scope: 'address' }),
      ]
      const limiter = new RateLimiter({ policies, store: held.store, storeTimeout: Infinity })
      const server = await serve(limiter, { key: { address: '192.0.2.1' } })
      const client = await server.connect()
      client.send('m1')
      await eventually(() => expect(held.calls()).toBe(1))
      client.close()
      await eventually(() => expect(client.ended).toBeDefined())
      held.release()
      await eventually(() => expect(memory.stats().keys).toBe(1))
      const { policies: verdicts } = await limiter.peek(server.connections[0]?.limit.key as Key)
      expect(verdicts.map(({ remaining }) => remaining)).toEqual([3, 4])
    })

    test('the order stays, in whichever order an asynchronous store answers', async () => {
      const store = shuffledStore(memoryStore({ clock: clock.now }))
      const { delivered, connect } = await serve(new RateLimiter({ policies: '150/1h', store }))
      const client = await connect()
      client.send(...texts(1, 200))
      await eventually(() => expect(delivered.length + client.notices.length).toBe(200))
      expect(delivered).toEqual(texts(1, 150))
    })

    test('a message that comes just before the close is delivered, before the application sees the close', async () => {
      const held = heldStore(memoryStore())
      const limiter = new RateLimiter({ policies: '2/1h', store: held.store, storeTimeout: Infinity })
      const server = await serve(limiter)
      const client = await server.connect()
      client.send(...texts(1, 3))
      await eventually(() => expect(held.calls()).toBe(3))
      if (library.holdsClose) {
        client.close()
        await eventually(() => expect(client.ended).toBeDefined())
        expect(server.connections[0]?.closed).toBe(false)
      }
      held.release()
      await eventually(() => expect(server.delivered).toEqual(['m1', 'm2']))
      if (library.holdsClose) await eventually(() => expect(server.connections[0]?.closed).toBe(true))
    })

    test.each(['drop', 'close', 'delay'] as const)('%s: no more than maxQueue messages wait', async (overLimit) => {
      const held = heldStore(memoryStore())
      const limiter = new RateLimiter({ policies: '100/1h', store: held.store, storeTimeout: Infinity })
      const server = await serve(limiter, { overLimit, maxQueue: 4 })
      const client = await server.connect()
      client.send(...texts(1, 6))
      if (overLimit === 'drop') {
        await eventually(() => expect(client.notices.map(({ retryAfterMs }) => retryAfterMs)).toEqual([1000, 1000]))
        expect(server.connections[0]?.limit.waiting).toBe(4)
      } else await eventually(() => expect(client.ended).toBe(library.closedByLimit))
      held.release()
      await eventually(() => expect(server.delivered).toEqual(overLimit === 'drop' ? texts(1, 4) : []))
    })

    test('a flood of 100,000 messages from a client that reads nothing fills no memory', async () => {
      let messages = 0
      const cost = () => {
        messages++
        return 1
      }
      const { connect, connections, delivered } = await serve('10/1h', { cost })
      const client = await connect()
      client.stopReading()
      const buffered = () => connections[0]?.buffered() ?? 0
      let most = 0
      for (let sent = 0; sent < 100_000; sent += 1000) {
        client.send(...texts(sent + 1, sent + 1000))
        while (messages < sent + 1000) await new Promise((resolve) => setImmediate(resolve))
        most = Math.max(most, buffered())
      }
      expect(most).toBeGreaterThan(library.mostBuffered / 2)
      expect(most).toBeLessThanOrEqual(library.mostBuffered)
      expect([delivered, connections[0]?.limit.waiting]).toEqual([texts(1, 10), 0])
    }, 120_000)

    test('notify is called in place of the notice, and cannot break the socket', async () => {
      const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const refusals: object[] = []
      const notify: CommonOptions['notify'] = ({ reason, text }) => {
        refusals.push({ reason, text })
        if (text === 'm2') throw new Error('broken')
        return Promise.reject(new Error('broken too'))
      }
      const { delivered, connect } = await serve(
        new RateLimiter({ policies: '1/1h', store: memoryStore({ clock: clock.now }) }),
        { notify },
      )
      const client = await connect()
      client.send(...texts(1, 3))
      await eventually(() => expect(refusals).toHaveLength(2))
      clock.advance('2h')
      client.send('m4')
      await eventually(() => expect(delivered).toEqual(['m1', 'm4']))
      expect(refusals).toEqual([
        { reason: 'limit', text: 'm2' },
        { reason: 'limit', text: 'm3' },
      ])
      expect(client.notices).toEqual([])
      expect(warnings).toHaveBeenCalledTimes(1)
    })

    test.each([
      ['local', ['m1', 'm2', 'm3'], 0, 0],
      ['open', ['m1', 'm2', 'm3', 'm4'], 0, 0],
      ['closed', [], 4, 0],
      ['throw', [], 0, 4],
    ] as const)('a store that fails, with onStoreError %s', async (onStoreError, admitted, told, failed) => {
      const store = faultyStore(memoryStore({ clock: clock.now }))
      store.fail('error')
      const limiter = new RateLimiter({ policies: '3/1h', store, onStoreError })
      const server = await serve(limiter, {}, true)
      const client = await server.connect()
      client.send(...texts(1, 4))
      await eventually(() => expect(server.connections[0]?.errors).toHaveLength(failed))
      await eventually(() => expect(server.delivered).toEqual(admitted))
      if (told > 0)
        await eventually(() =>
          expect(client.notices.map(({ error }) => error)).toEqual(Array(told).fill('unavailable')),
        )
    })

    test.each(stores)('a cost for each policy, or 0, on %s', async (_store, createStore) => {
      const policies = [
        tokenBucket({ name: 'said', limit: 2, window: '1h' }),
        tokenBucket({ name: 'flood', limit: 4, window: '1h' }),
      ]
      const limiter = new RateLimiter({
        policies,
        store: createStore(),
        penalty: { after: 9, within: '1h', ban: '1h' },
      })
      const cost = (text: string) => (text === 'typing' ? { said: 0, flood: 1 } : text === 'ping' ? 0 : 1)
      const { delivered, connect } = await serve(limiter, { cost, key: 'ann' })
      const client = await connect()
      client.send('typing', 'ping', 'm1', 'm2', 'm3', 'typing', 'ping', 'typing', 'ping')
      await eventually(() => expect(client.notices.map(({ policy }) => policy)).toEqual(['said', 'flood']))
      await eventually(() => expect(delivered).toEqual(['typing', 'ping', 'm1', 'm2', 'typing', 'ping', 'ping']))
      await limiter.ban('ann', '1h')
      client.send('ping')
      await eventually(() => expect(client.notices.at(-1)?.policy).toBe('ban'))
    })

    test.each(stores)('a ban by a spent quota refuses messages that cost 0 too, on %s', async (_store, createStore) => {
      const penalty = { on: 'spent', ban: '2h' } as const
      const limiter = new RateLimiter({ policies: '2/1h fixed-window', penalty, store: createStore() })
      const cost = (text: string) => (text === 'ping' ? 0 : 1)
      const { delivered, connect } = await serve(limiter, { cost, key: 'ann' })
      const client = await connect()
      client.send('ping', 'm1', 'ping', 'm2', 'ping', 'm3', 'ping')
      await eventually(() => expect(client.notices.map(({ policy }) => policy)).toEqual(Array(3).fill('penalty')))
      expect(delivered).toEqual(['ping', 'm1', 'ping', 'm2'])
    })

    test.each(stores)(
      'under the plan without limits, every message is delivered, whatever the key, on %s',
      async (_store, createStore) => {
        for (const key of [undefined, 'ann', { user: 'ann' }]) {
          const limiter = new RateLimiter({ policies: '2/1h', store: createStore() }).withPlan('unlimited')
          const { delivered, connect } = await serve(limiter, key === undefined ? {} : { key })
          const client = await connect()
          client.send(...texts(1, 5))
          await eventually(() => expect(delivered).toEqual(texts(1, 5)))
          client.close()
        }
      },
    )

    test.each(stores)(
      'a record that names no policy of the limiter is an error, on %s',
      async (_store, createStore) => {
        const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
        onTestFinished(() => warnings.mockRestore())
        const limiter = new RateLimiter({ policies: '5/1h', store: createStore() })
        const cost = (text: string) => (text === 'wrong' ? { said: 1 } : { '1h': 1 })
        const server = await serve(limiter, { cost }, true)
        const client = await server.connect()
        client.send('wrong', 'right')
        await eventually(() => expect(server.delivered).toEqual(['right']))
        expect(server.connections[0]?.errors).toEqual([expect.objectContaining({ code: 'HEADGATE_COST' })])
        expect(warnings.mock.calls).toEqual([warningOf('"said"')])
      },
    )

    test('a cost that throws or is none drops the message, warns once of each kind, and the error goes to the listener', async () => {
      const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const cost = (text: string) => JSON.parse(text).cost as number
      const server = await serve('5/1h', { cost }, true)
      const client = await server.connect()
      client.send('{"cost":3}', 'no JSON', '{"cost":0.5}', '{}', '', '{"cost":2}')
      await eventually(() => expect(server.delivered).toEqual(['{"cost":3}', '{"cost":2}']))
      const [thrown, wrong] = server.connections[0]?.errors ?? []
      expect([thrown?.name, (wrong as { code?: string }).code]).toEqual(['SyntaxError', 'HEADGATE_COST'])
      expect(warnings.mock.calls).toEqual([warningOf('SyntaxError'), warningOf('got 0.5')])
    })

    test('a cost that is a promise drops the message, and its rejection ends nothing', async () => {
      const cost = (async () => Promise.reject(new Error('late'))) as never
      const server = await serve('5/1h', { cost }, true)
      const client = await server.connect()
      client.send('m1')
      await eventually(() => expect(server.connections[0]?.errors).toHaveLength(1))
      expect(server.connections[0]?.errors).toEqual([expect.objectContaining({ code: 'HEADGATE_COST' })])
    })

    test('without a listener for errors, a cost that throws is a warning and does not end the process', async () => {
      const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const { delivered, connect } = await serve('5/1h', { cost: (text) => JSON.parse(text).cost })
      const client = await connect()
      client.send('no JSON', '{"cost":2}')
      await eventually(() => expect(delivered).toEqual(['{"cost":2}']))
      expect(warnings.mock.calls).toEqual([warningOf('SyntaxError')])
    })

    test.each([false, true])('with throw, an error of the store is a warning. A listener: %s', async (listens) => {
      const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const store = faultyStore(memoryStore({ clock: clock.now }))
      store.fail('error')
      const limiter = new RateLimiter({ policies: '3/1h', store, onStoreError: 'throw' })
      const { connect, connections } = await serve(limiter, {}, listens)
      const client = await connect()
      client.send(...texts(1, 3))
      await eventually(() => expect(warnings).toHaveBeenCalled())
      if (listens) await eventually(() => expect(connections[0]?.errors).toHaveLength(3))
      expect(warnings.mock.calls).toEqual([warningOf('')])
    })
  })
}
