import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { gcra, slidingLog, slidingWindow } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'

/*
 * On the real clock, a slot may come late when the machine is busy, but never early. So lower bounds are exact, and upper
 * bounds only say that the slot came at all.
 */

test('slots never come early, and add up to the rate', async () => {
  const pacer = new Pacer(gcra({ limit: 200, window: '1s', burst: 1 }))
  const since = performance.now()
  const times = await Promise.all(
    Array.from({ length: 60 }, () => pacer.acquire().then(() => performance.now() - since)),
  )
  for (const [n, time] of times.entries()) expect(time).toBeGreaterThanOrEqual(n * 5)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(times.at(-1)).toBeLessThan(5000)
})

test.each([
  ['a policy that books', slidingLog({ limit: 5, window: 100 })],
  ['a policy that polls', slidingWindow({ limit: 5, window: 100 })],
])('%s: 15 calls at 5 in 100 ms', async (_, policy) => {
  const pacer = new Pacer(policy)
  const since = performance.now()
  await Promise.all(Array.from({ length: 15 }, () => pacer.acquire()))
  const took = performance.now() - since
  expect(took).toBeGreaterThanOrEqual(policy.algorithm.promises ? 200 : 100)
  expect(took).toBeLessThan(5000)
})

/** The exit code of a process in which a call waits for a minute. After 20 s it would be killed. */
function ends(options: string, then: string): number | null {
  const code = `
    import { Pacer } from 'headgate/pacer'
    const pacer = new Pacer('1/1m burst 1', ${options})
    await pacer.acquire()
    const controller = new AbortController()
    pacer.acquire(1, { signal: controller.signal }).catch(() => {})
    ${then}
  `
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    timeout: 20_000,
  })
  return child.status
}

test('with unref, a process ends while a call waits', () => {
  expect(ends('{ unref: true }', '')).toBe(0)
})

test('an aborted call does not keep a process running', () => {
  expect(ends('{}', 'controller.abort()')).toBe(0)
  expect(ends('{}', 'pacer.close()')).toBe(0)
})
