import { expect, test } from 'vitest'
import { createGuard } from '../../src/http.ts'
import { concurrency, RateLimiter } from '../../src/index.ts'
import { PlainResponse, plainFramework } from '../support/plain-framework.ts'

test('an event loop that is late by a tenth of a lease all the time loses no units in flight', async () => {
  const limiter = new RateLimiter({ policies: concurrency({ limit: 400, lease: '4800ms' }) })
  const guard = createGuard(plainFramework, { limiter, keys: () => 'k' })
  const open = Array.from({ length: 400 }, () => new PlainResponse())
  for (const response of open) expect(await guard.check({} as never, response)).toBe(true)
  const used: (number | undefined)[] = []
  for (const end = performance.now() + 9000; performance.now() < end; ) {
    for (const busy = performance.now() + 400; performance.now() < busy; ) {} // a long computation
    await new Promise((resolve) => setTimeout(resolve))
    used.push((await limiter.peek('k')).policies[0]?.used)
  }
  expect(new Set(used)).toEqual(new Set([400]))
})
