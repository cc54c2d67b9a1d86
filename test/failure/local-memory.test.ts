/* What a process remembers while the store fails is released once it no longer counts. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { toPolicy } from '../../src/algorithms/shorthand.ts'
import { type Decision, memoryStore } from '../../src/index.ts'
import type { Ledger } from '../../src/store.ts'
import { openLedger } from '../../src/stores/contract/open-ledger.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { remoteStore } from '../support/async-store.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** In megabytes, with what typed arrays hold. */
function used(): number {
  for (let n = 0; n < 4; n++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

test.each(['10/10s', '10/10s sliding-log', '10/10s sliding-window'])('%s', async (text) => {
  const clock = new ManualClock()
  const policy = toPolicy(text)
  const terms = { name: 'api', policies: [policy], scopes: [policy.scope] }
  let down = false
  /** It remembers nothing, so that all memory is that of the limiter. */
  const answer = memoryStore()
    .open(terms)
    .run({ verb: 'peek', keys: ['k'] }) as Decision
  const respond = async () => {
    if (down) throw new Error('down')
    return answer
  }
  const store = remoteStore(() => ({ run: respond }) as unknown as Ledger, { timeout: 100 })
  const failure = { onStoreError: 'local', instances: 1, storeTimeout: undefined, clock: clock.now } as const
  const ledger = openLedger(store, { ...terms, failure })
  const consume = async (key: string) => (await ledger.run({ verb: 'consume', keys: [key] })) as Decision
  const recover = async () => {
    down = false
    clock.advance(600)
    await consume('warm') // the probe
    await expect.poll(() => ledger.health?.()).toMatchObject({ state: 'closed', owing: 0 })
  }

  await consume('warm')
  const before = used()
  down = true
  for (let n = 0; n < 10_000; n++) await consume(`user-${n}`)
  const during = used()
  expect(during - before).toBeGreaterThan(2)
  await recover()
  // The units still count, so that a store that fails again grants no second quota.
  down = true
  for (let n = 0; n < 9; n++) await consume('user-9999')
  expect(await consume('user-9999')).toMatchObject({ allowed: false, source: 'fallback' })
  await recover()
  clock.advance('21s')
  expect(await consume('user-9999')).toMatchObject({ source: 'store' })
  expect(used() - before).toBeLessThan(0.2 * (during - before))
})
