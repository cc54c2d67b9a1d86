import { describe, expect, test } from 'vitest'
import { withLimit } from '../../../src/algorithms/define-policy.ts'
import { sameDefinition } from '../../../src/algorithms/kinds.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { encodeId, keyStart } from '../../../src/stores/redis/keys.ts'
import { inDepth, sampled } from '../../support/depth.ts'
import { policyOf, replayedScripts } from '../../support/guava.ts'
import { unpackStates } from '../../support/states.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

let replayed = 0

/**
 * As on memory (test/algorithms/guava.test.ts). Waits are milliseconds here; states are compared bit for bit. When a rate
 * is set, the next admitted call adopts the state; here that call is given back at once, so it leaves no trace.
 */
describe('Guava on Redis', () => {
  test.each(sampled(replayedScripts, 32).map((script) => [String(script.config.id), script] as const))(
    '%s',
    async (id, script) => {
      const { config, operations } = script
      let now = Number(config.startUs)
      let policy = policyOf(config)
      const store = redisStore({ client, clock: () => now, ttlMargin: '1d', timeout: '10s', prefix: 'guava' })
      const open = () => store.open({ name: id, policies: [policy], scopes: ['default'], onChange: 'retune' })
      let ledger = open()
      const key = `${keyStart('guava', id, 'default')}${encodeId('x')}}`
      const state = async () => unpackStates(await client.getBuffer(key), [policy])[policy.name] as number[]
      const seen = async () => {
        const s = await state()
        return { free: s[1], stored: s[2] }
      }

      async function setRate(rate: number): Promise<void> {
        const next = withLimit(policy, rate)
        if (sameDefinition(next.algorithm, policy.algorithm)) await overwrite()
        policy = next
        ledger = open()
        expect((await ledger.run({ verb: 'reserve', keys: ['x'], maxWait: Infinity })).decision.allowed).toBe(true)
        await ledger.run({ verb: 'refund', keys: ['x'] })
      }

      /** Guava rewrites its numbers even if the rate stays the same. In the value they come last. */
      async function overwrite(): Promise<void> {
        const value = (await client.getBuffer(key)) as Buffer
        const s = (await state()).slice()
        policy.algorithm.adopt?.(s, 0, now, policy.algorithm)
        const size = value.readUInt8(0)
        Buffer.from(new Float64Array(s).buffer).copy(value, value.length - size, 0, size)
        await client.set(key, value)
      }

      await ledger.run({ verb: 'charge', keys: ['x'], costs: 0 }) // a limiter of Guava starts when it is created
      expect(config.init).toMatchObject(await seen())
      for (const recorded of operations) {
        const { op, n, us, rate, waitUs, ok, throws, timeoutNs, timeoutUs } = recorded
        if (op === 'advance') now += Number(us)
        if (throws !== undefined) continue
        if (op === 'setRate') {
          if (rate === 'Infinity' || rate === 4.9e-324) return
          await setRate(Number(rate))
          expect(recorded).toMatchObject(await seen())
        }
        if (op !== 'acquire' && op !== 'tryAcquire') continue
        const micros = timeoutNs === undefined ? Number(timeoutUs) : Math.trunc(Number(timeoutNs) / 1000)
        const maxWait = op === 'acquire' ? Infinity : Math.max(0, micros)
        const { decision, wait } = await ledger.run({ verb: 'reserve', keys: ['x'], costs: Number(n), maxWait })
        const allowed = op === 'acquire' || ok === true
        expect({ allowed: decision.allowed, wait }).toEqual({
          allowed,
          wait: allowed ? Math.ceil(Number(waitUs) / 1000) : 0,
        })
        if (allowed && config.sleepAdvances === true) now += Number(waitUs)
        expect(recorded).toMatchObject({ now, ...(await seen()) })
        replayed++
      }
    },
  )

  test('every recorded acquire and tryAcquire was replayed', () => {
    if (inDepth) expect(replayed).toBe(3774)
    else expect(replayed).toBeGreaterThan(500)
  })
})
