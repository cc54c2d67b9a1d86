import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { createGuard } from '../../src/http.ts'
import { contract, statuses } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { PlainResponse, plainFramework } from '../support/plain-framework.ts'

/** Real time is the point here: the deadline is a timer. */
const never = () => new Promise<never>(() => {})

const options: Record<string, (hangs: () => unknown) => object> = {
  keys: (keys) => ({ policies: '9/1h', keys }),
  'keys of several scopes': (user) => ({
    policies: ['9/1h', { limit: 9, window: '1m', scope: 'user' }],
    keys: { user },
  }),
  skip: (skip) => ({ policies: '9/1h', skip }),
  deny: (deny) => ({ policies: '9/1h', deny }),
  cost: (cost) => ({ policies: '9/1h', cost }),
  calendar: (calendar) => ({ policies: calendarWindow({ limit: 9, every: 'month', anchor: 'caller' }), calendar }),
  policies: (policies) => ({ policies }),
  'skip before policies': (skip) => ({ policies: () => '9/1h', skip }),
}

contract((app) => {
  test.each(Object.keys(options))('%s that never answers ends in the error handler at the deadline', async (option) => {
    const { url, handled } = await app({ ...options[option]?.(never), functionTimeout: 20 })
    const { status, body } = await get(url)
    expect([status, body]).toEqual([
      500,
      expect.stringMatching(/^(keys|skip|deny|cost|calendar|policies) did not answer within 20 ms/),
    ])
    expect(handled()).toBe(0)
  })

  test('a function that answers in time decides, and one that rejects late is not heard', async () => {
    const later = (value: unknown) => () => new Promise((resolve) => setTimeout(resolve, 5, value))
    const slow = await app({ limit: 1, window: '1h', keys: later('ann'), cost: later(1), functionTimeout: '10s' })
    expect(await statuses(slow.url, [{}, {}])).toEqual([200, 429])
    const rejects = () => new Promise((_resolve, reject) => setTimeout(reject, 300, new Error('late')))
    const late = await app({ limit: 1, window: '1h', keys: rejects, functionTimeout: 10 })
    expect((await get(late.url)).body).toContain('did not answer')
    await new Promise((resolve) => setTimeout(resolve, 320))
  })
})

/** Checks a request without a server, so that no other timers run. */
function check(guardOptions: object): Promise<unknown> {
  const guard = createGuard(plainFramework, { limit: 9, window: '1h', ...guardOptions })
  return new Promise((resolve) => guard.handle({ address: '192.0.2.1' }, new PlainResponse(), resolve))
}

const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

test('the deadline is 5 seconds by default', async () => {
  const began = performance.now()
  expect(await check({ keys: never })).toMatchObject({ code: 'HEADGATE_FUNCTION_TIMEOUT' })
  expect(performance.now() - began).toBeGreaterThan(4990)
})

test('a synchronous function sets no timer, and no timer stays after an answer', async () => {
  const inAMoment = (value: unknown) => new Promise((resolve) => setImmediate(() => setImmediate(resolve, value)))
  const before = timers()
  expect(await check({ keys: () => 'ann', cost: () => 1, skip: () => false })).toBeUndefined()
  expect(timers()).toBeLessThanOrEqual(before) // one of another test may have ended
  const checked = check({ keys: () => inAMoment('ann'), cost: () => inAMoment(1) })
  expect(timers()).toBeGreaterThan(0)
  expect(await checked).toBeUndefined()
  await expect.poll(timers).toBeLessThanOrEqual(before)
})

test('a process that stood still gives the function its time again', async () => {
  const inAMoment = () => new Promise((resolve) => setTimeout(() => setTimeout(resolve, 5, 'ann'), 5))
  const checked = check({ keys: inAMoment, functionTimeout: 50 })
  for (const began = performance.now(); performance.now() - began < 150; ) {}
  expect(await checked).toBeUndefined()
})

test('Infinity waits as long as the function does', async () => {
  const before = timers()
  const checked = check({
    keys: () => new Promise((resolve) => setImmediate(resolve, 'ann')),
    functionTimeout: Number.POSITIVE_INFINITY,
  })
  expect(timers()).toBeLessThanOrEqual(before)
  expect(await checked).toBeUndefined()
})

test.each([0, -1, 1.5, Number.NaN, '', 'soon', null, {}])('functionTimeout: %j is an error', (functionTimeout) => {
  for (const policies of ['1/1h', () => '1/1h']) {
    expect(() => createGuard(plainFramework, { policies, functionTimeout } as never)).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION' }),
    )
  }
})
