import { channel } from 'node:diagnostics_channel'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { forgetWarnings } from '../../src/common/warn.ts'
import { type DecisionEvent, type DenialEvent, memoryStore, type Store, type StoreErrorEvent } from '../../src/index.ts'
import { brokenStore, remoteStore } from '../support/async-store.ts'
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
const broken = brokenStore
/** A store that reserves units, and fails to settle reservations. */
const forgetful = (): Store =>
  remoteStore((terms) => ({
    async run(command) {
      if (command.verb !== 'reserve') return down()
      return await memoryStore().open(terms).run(command)
    },
  }))
const short = ({ decision, key, limiter, enforced }: DecisionEvent) =>
  `${limiter} ${key} ${decision.allowed ? 'in' : 'out'}${enforced ? '' : ', not enforced'}`

contract((app) => {
  test('hooks get decisions and refusals, enforced or not', async () => {
    for (const [enforce, suffix] of [
      [1, ''],
      [0, ', not enforced'],
    ] as const) {
      const seen: string[] = []
      const onDecision = (event: DecisionEvent) => seen.push(short(event))
      const onRefused = (event: DecisionEvent) => seen.push(`refused: ${short(event)}`)
      const { url } = await app({ policies: '1/1h', name: 'api', keys: () => 'k', enforce, onDecision, onRefused })
      await statuses(url, [{}, {}])
      expect(seen).toEqual([`api k in${suffix}`, `api k out${suffix}`, `refused: api k out${suffix}`])
    }
  })

  test('a denied request gives an event, to the hook and to the channel', async () => {
    for (const policies of ['9/1h', () => '9/1h']) {
      const seen: unknown[] = []
      const note = (event: unknown) => {
        const { address, limiter, request, response } = event as DenialEvent
        seen.push([address, limiter, typeof request, typeof response])
      }
      const unheard = vi.fn()
      const name = typeof policies === 'string' ? 'api' : 'plans'
      const hooks = { onDenied: note, onDecision: unheard, onRefused: unheard }
      const { url } = await app({ policies, name, deny: ['127.0.0.0/8'], ...hooks })
      expect(await statuses(url, [{}])).toEqual([403])
      channel('headgate:denied').subscribe(note)
      expect(await statuses(url, [{}])).toEqual([403])
      channel('headgate:denied').unsubscribe(note)
      expect(seen).toEqual(Array.from({ length: 3 }, () => ['127.0.0.1', name, 'object', 'object']))
      expect(unheard).not.toHaveBeenCalled()
    }
  })

  test('a hook for denied requests that throws breaks nothing', async () => {
    const { url } = await app({ policies: '9/1h', deny: ['127.0.0.1'], onDenied: down })
    expect(await statuses(url, [{}, {}])).toEqual([403, 403])
    expect(warned).toHaveBeenCalledTimes(1)
  })

  test('a hook that throws or rejects breaks nothing and gives one warning', async () => {
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

  test('onStoreError gets the error of a store that throws or rejects, and cannot break the request', async () => {
    for (const fails of [down, later]) {
      for (const more of [{}, { count: 'failures' }, { policies: '1/1h token-bucket', delay: { max: '1s' } }]) {
        const seen: StoreErrorEvent[] = []
        const onStoreError = (event: StoreErrorEvent) => {
          seen.push(event)
          throw new Error('and the hook is no better')
        }
        const { url } = await app({ policies: '1/1h', store: broken(fails), keys: () => 'k', onStoreError, ...more })
        expect(await get(url)).toMatchObject({ status: 200, body: 'ok' })
        expect(seen).toMatchObject([{ error: { message: 'store is down' }, key: 'k', limiter: 'default' }])
      }
    }
  })

  test('onStoreError does not get misuse', async () => {
    const onStoreError = vi.fn()
    const { url } = await app({ policies: '1/1h', cost: () => 0, onStoreError })
    expect((await get(url)).status).toBe(500)
    expect(onStoreError).not.toHaveBeenCalled()
  })

  test('onStoreError gets an error that comes after the response, and nothing breaks', async () => {
    const seen: StoreErrorEvent[] = []
    const onStoreError = (event: StoreErrorEvent) => void seen.push(event)
    const { url } = await app({ policies: '9/1h', store: forgetful(), count: 'failures', onStoreError })
    expect(await statuses(url, [{}, {}])).toEqual([200, 200])
    expect(seen).toHaveLength(2)
    expect(warned).not.toHaveBeenCalled()
    const denied = { policies: '9/1h', store: forgetful(), count: 'failures', onStoreError: 'closed' }
    expect(await statuses((await app(denied)).url, [{}, {}])).toEqual([200, 200])
    expect(warned.mock.calls.map(([, options]) => options)).toMatchObject([{ code: 'HEADGATE_SETTLE' }])
  })

  test('diagnostics channels get decisions, refusals and store errors', async () => {
    const seen: string[] = []
    const listeners = {
      'headgate:decision': (event: unknown) => seen.push(`decision ${short(event as DecisionEvent)}`),
      'headgate:refused': (event: unknown) => seen.push(`refused ${short(event as DecisionEvent)}`),
      'headgate:store-error': (event: unknown) => seen.push(String((event as StoreErrorEvent).error)),
    }
    for (const [name, listener] of Object.entries(listeners)) channel(name).subscribe(listener)
    try {
      await statuses((await app({ policies: '1/1h', keys: () => 'k' })).url, [{}, {}])
      await get((await app({ policies: '1/1h', store: broken(later), onStoreError: 'closed' })).url)
    } finally {
      for (const [name, listener] of Object.entries(listeners)) channel(name).unsubscribe(listener)
    }
    await statuses((await app({ policies: '1/1h' })).url, [{}, {}])
    expect(seen).toEqual([
      'decision default k in',
      'decision default k out',
      'refused default k out',
      'Error: store is down',
    ])
  })
})

test.each(['onDecision', 'onRefused', 'onStoreError'])('%s throws at construction if it is not a function', (hook) => {
  expect(() => rateLimit('1/1h', { [hook]: 'log' } as never)).toThrow(
    expect.objectContaining({ code: 'HEADGATE_OPTION' }),
  )
})
