import { channel } from 'node:diagnostics_channel'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { type DecisionEvent, memoryStore, type Store, type StoreErrorEvent } from '../../src/index.ts'
import { forgetWarnings } from '../../src/warn.ts'
import { contract, statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const warned = vi.spyOn(process, 'emitWarning')
const unhandled = vi.fn()
beforeEach(() => {
  forgetWarnings()
  unhandled.mockReset()
  warned.mockReset().mockImplementation(() => undefined)
  process.on('unhandledRejection', unhandled)
})
afterEach(() => {
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

const down = () => {
  throw new Error('store is down')
}
const later = async () => down()
const broken = (fails: () => never | Promise<never>): Store => ({
  synchronous: false,
  open: () => ({ decide: fails, reserve: fails, reset: fails }),
})
/** Gives units out, and fails to take them back. */
const forgetful = (): Store => ({
  synchronous: false,
  open: (terms) => ({
    ...broken(later).open(terms),
    reserve: async (...call) =>
      memoryStore()
        .open(terms)
        .reserve(...call),
  }),
})
const short = ({ decision, key, limiter, enforced }: DecisionEvent) =>
  `${limiter} ${key} ${decision.allowed ? 'in' : 'out'}${enforced ? '' : ', not enforced'}`

contract((app) => {
  test('hooks are told of decisions and refusals, enforced or not', async () => {
    for (const [shadow, suffix] of [
      [false, ''],
      [true, ', not enforced'],
    ] as const) {
      const told: string[] = []
      const onDecision = (event: DecisionEvent) => told.push(short(event))
      const onRefused = (event: DecisionEvent) => told.push(`refused: ${short(event)}`)
      const { url } = await app({ policies: '1/1h', name: 'api', keys: () => 'k', shadow, onDecision, onRefused })
      await statuses(url, [{}, {}])
      expect(told).toEqual([`api k in${suffix}`, `api k out${suffix}`, `refused: api k out${suffix}`])
    }
  })

  test('a hook that throws or rejects breaks nothing and is told once', async () => {
    const bad = () => down()
    for (const hook of [bad, async () => bad()]) {
      forgetWarnings()
      warned.mockClear()
      const { url } = await app({ limit: 2, window: '1h', onDecision: hook, onRefused: hook })
      expect(await statuses(url, [{}, {}, {}, {}])).toEqual([200, 200, 429, 429])
      expect(warned.mock.calls.map(([message, options]) => [String(message).split(' ')[0], options])).toEqual([
        ['onDecision', { type: 'HeadgateWarning', code: 'HEADGATE_HOOK' }],
        ['onRefused', { type: 'HeadgateWarning', code: 'HEADGATE_HOOK' }],
      ])
    }
  })

  test('onStoreError is told of a store that throws or rejects, and cannot break anything', async () => {
    for (const fails of [down, later]) {
      for (const more of [{}, { count: 'failures' }, { policies: '1/1h token-bucket', delay: { max: '1s' } }]) {
        const told: StoreErrorEvent[] = []
        const onStoreError = (event: StoreErrorEvent) => {
          told.push(event)
          throw new Error('and the hook is no better')
        }
        const { url } = await app({ policies: '1/1h', store: broken(fails), keys: () => 'k', onStoreError, ...more })
        expect(await get(url)).toMatchObject({ status: 200, body: 'ok' })
        expect(told).toMatchObject([{ error: { message: 'store is down' }, key: 'k', limiter: 'default' }])
      }
    }
  })

  test('misuse is no store error', async () => {
    const onStoreError = vi.fn()
    const { url } = await app({ policies: '1/1h', cost: () => 0, onStoreError })
    expect((await get(url)).status).toBe(500)
    expect(onStoreError).not.toHaveBeenCalled()
  })

  test('a store that fails behind an answered request is told, and nothing breaks', async () => {
    const told: StoreErrorEvent[] = []
    const onStoreError = (event: StoreErrorEvent) => void told.push(event)
    const { url } = await app({ policies: '9/1h', store: forgetful(), count: 'failures', onStoreError })
    expect(await statuses(url, [{}, {}])).toEqual([200, 200])
    expect(told).toHaveLength(2)
    expect(warned).not.toHaveBeenCalled()
    const denied = { policies: '9/1h', store: forgetful(), count: 'failures', onStoreError: 'deny' }
    expect(await statuses((await app(denied)).url, [{}, {}])).toEqual([200, 200])
    expect(warned.mock.calls.map(([, options]) => options)).toMatchObject([{ code: 'HEADGATE_SETTLE' }])
  })

  test('channels', async () => {
    const told: string[] = []
    const listeners = {
      'headgate:decision': (event: unknown) => told.push(`decision ${short(event as DecisionEvent)}`),
      'headgate:refused': (event: unknown) => told.push(`refused ${short(event as DecisionEvent)}`),
      'headgate:store-error': (event: unknown) => told.push(String((event as StoreErrorEvent).error)),
    }
    for (const [name, listener] of Object.entries(listeners)) channel(name).subscribe(listener)
    try {
      await statuses((await app({ policies: '1/1h', keys: () => 'k' })).url, [{}, {}])
      await get((await app({ policies: '1/1h', store: broken(later), onStoreError: 'deny' })).url)
    } finally {
      for (const [name, listener] of Object.entries(listeners)) channel(name).unsubscribe(listener)
    }
    await statuses((await app({ policies: '1/1h' })).url, [{}, {}])
    expect(told).toEqual([
      'decision default k in',
      'decision default k out',
      'refused default k out',
      'Error: store is down',
    ])
  })

  test('a burst of 500 on one key, with everything on: no more than the limit, and no crash', async () => {
    const onDecision = vi.fn(() => down())
    const { url, handled } = await app({
      policies: '50/1h',
      settle: true,
      count: 'successes',
      onDecision,
      deny: ['::2'],
    })
    const answers = await Promise.all(Array.from({ length: 500 }, () => get(url)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50)
    expect([handled(), onDecision.mock.calls.length]).toEqual([50, 500])
  })
})

test.each(['onDecision', 'onRefused', 'onStoreError'])('%s that is no function is told at construction', (hook) => {
  expect(() => rateLimit('1/1h', { [hook]: 'log' } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION' }),
  )
})
