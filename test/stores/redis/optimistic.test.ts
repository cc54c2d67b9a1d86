import { expect, test, vi } from 'vitest'
import { RateLimiter } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { until } from '../../support/contract.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** A process with the store of its own. */
function process(prefix: string): RateLimiter {
  const store = redisStore({ client, prefix, mode: 'optimistic', report: '20ms', timeout: '5s' })
  return new RateLimiter({ name: 'api', policies: '100/1h fixed-window', store })
}

test('two processes decide at once and agree with Redis after their reports', async () => {
  const processes = [process('optimistic-a'), process('optimistic-a')]
  const exact = new RateLimiter({
    name: 'api',
    policies: '100/1h fixed-window',
    store: redisStore({ client, prefix: 'optimistic-a', timeout: '5s' }),
  })
  const decisions = await Promise.all(processes.flatMap((each) => Array.from({ length: 20 }, () => each.consume('k'))))
  expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  let used = 0
  await until(() => {
    void exact.peek('k').then(({ policies }) => (used = policies[0]?.used ?? 0))
    return used === 40
  })
  for (const each of processes) expect((await each.consume('k')).remaining).toBeLessThanOrEqual(80)
})

test('if the record of the processes is none, Redis decides every call, and a warning says so', async () => {
  const warned = vi.spyOn(globalThis.process, 'emitWarning').mockImplementation(() => undefined)
  const record = 'optimistic-b:%007eprocesses:all:{processes}'
  await client.set(record, 'hello')
  const processes = Array.from({ length: 5 }, () => process('optimistic-b'))
  for (const each of processes) await each.consume('other')
  await expect.poll(() => warned.mock.calls.map(([text]) => text).join()).toMatch(/counts the processes/)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const decisions = await Promise.all(processes.flatMap((each) => Array.from({ length: 40 }, () => each.consume('k'))))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
  expect(await client.get(record)).toBe('hello')
  warned.mockRestore()
})

test.each([
  [{ mode: 'fast' }, /mode cannot be/],
  [{ report: '1s' }, /Give mode: 'optimistic' too/],
  [{ mode: 'optimistic', report: 0 }, /report/],
  [{ mode: 'optimistic', report: '2h' }, /at most 1 hour/],
  [{ mode: 'optimistic', leases: { units: 5 } }, /Leave leases out/],
])('%j is an error', (options, message) => {
  expect(() => redisStore({ client, ...options } as never)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(message) }),
  )
})
