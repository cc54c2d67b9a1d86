import { describe, expect, test } from 'vitest'
import { type Clock, memoryStore, type Store } from '../../src/index.ts'
import type { Ledger, LedgerTerms } from '../../src/store.ts'
import { testStore } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'

testStore({ name: 'memory', test, create: (clock) => memoryStore({ clock }) })
testStore({ name: 'memory behind promises', test, create: async (clock) => asyncStore(memoryStore({ clock })) })

describe('the contract finds a store that', () => {
  /** A memory store with one flaw: `spoil` replaces methods of each ledger. */
  const broken = (spoil: (ledger: Ledger, terms: LedgerTerms) => Partial<Ledger>) => (clock: Clock) => {
    const store = memoryStore({ clock })
    return changed(store, (terms) => {
      const ledger = store.open(terms)
      return {
        decide: (...call) => ledger.decide(...call),
        reserve: (...call) => ledger.reserve(...call),
        reset: (...call) => ledger.reset(...call),
        ...spoil(ledger, terms),
      }
    })
  }
  const changed = (store: Store, open: Store['open']): Store => ({ synchronous: store.synchronous, open })
  const keyed = (change: (key: string) => string) =>
    broken((ledger) => ({
      decide: (verb, keys, ...rest) => ledger.decide(verb, keys.map(change), ...rest),
      reserve: (keys, ...rest) => ledger.reserve(keys.map(change), ...rest),
      reset: (keys) => ledger.reset(keys.map(change)),
    }))

  /** What the first of the cases that fails throws. */
  async function failure(cases: readonly { run: () => Promise<void> }[]): Promise<unknown> {
    for (const { run } of cases) {
      const error = await run().catch((error: unknown) => error)
      if (error !== undefined) return error
    }
    return undefined
  }

  test.each<{ flaw: string; create: (clock: Clock) => Store; finds: RegExp }>([
    {
      flaw: 'loses every state',
      create: (clock) =>
        changed(memoryStore({ clock }), (terms) => ({
          decide: (...call) =>
            memoryStore({ clock })
              .open(terms)
              .decide(...call),
          reserve: (...call) =>
            memoryStore({ clock })
              .open(terms)
              .reserve(...call),
          reset: () => undefined,
        })),
      finds: /at retryAfter/,
    },
    {
      flaw: 'ignores its clock',
      create: () => memoryStore({ clock: () => 0 }),
      finds: /retryAfter/,
    },
    {
      flaw: 'reads a clock of milliseconds',
      create: (clock) => memoryStore({ clock: () => clock() - (clock() % 1000) }),
      finds: /the memory store/,
    },
    { flaw: 'ignores reset', create: broken(() => ({ reset: () => undefined })), finds: /the memory store/ },
    { flaw: 'folds case', create: keyed((key) => key.toLowerCase()), finds: /hostile keys/ },
    { flaw: 'trims keys', create: keyed((key) => key.trim()), finds: /hostile keys/ },
    { flaw: 'truncates long keys', create: keyed((key) => key.slice(0, 255)), finds: /hostile keys/ },
    { flaw: 'writes UTF-8', create: keyed((key) => Buffer.from(key).toString()), finds: /hostile keys/ },
    {
      flaw: 'lets a peek consume',
      create: broken((ledger) => ({
        decide: (verb, ...rest) => ledger.decide(verb === 'peek' ? 'consume' : verb, ...rest),
      })),
      finds: /peek and refused calls/,
    },
    {
      flaw: 'ignores maxWait',
      create: broken((ledger) => ({ reserve: (keys, cost) => ledger.reserve(keys, cost, 0) })),
      finds: /a slot each/,
    },
    {
      flaw: 'shows the states of another key',
      create: broken((ledger) => ({
        inspect: (keys) => ledger.inspect?.(keys.map((key) => `${key} 2`)) as never,
      })),
      finds: /the memory store/,
    },
    {
      flaw: 'loses the tickets of reservations',
      create: broken((ledger) => ({ decide: (verb, keys, cost) => ledger.decide(verb, keys, cost) })),
      finds: /the memory store/,
    },
    {
      flaw: 'settles as if it were a refund',
      create: broken((ledger) => ({
        decide: (verb, keys, costs, options) => {
          if (verb !== 'settle' || typeof costs === 'number') return ledger.decide(verb, keys, costs, options)
          return ledger.decide(
            'refund',
            keys,
            costs.map((units) => Math.max(0, -units)),
          )
        },
      })),
      finds: /has not drained|after a reset/,
    },
    {
      flaw: 'takes the largest cost under every policy',
      create: broken((ledger) => ({
        decide: (verb, keys, costs, options) =>
          ledger.decide(
            verb,
            keys,
            typeof costs === 'number' || verb === 'settle' ? costs : Math.max(...costs),
            options,
          ),
      })),
      finds: /a cost of its own/,
    },
    {
      flaw: 'reserves again instead of renewing',
      create: broken((ledger) => ({ reserve: (keys, costs, maxWait) => ledger.reserve(keys, costs, maxWait) })),
      finds: /can be renewed/,
    },
    {
      flaw: 'mixes up limiters',
      create: (clock) => {
        const store = memoryStore({ clock })
        let shared: Ledger | undefined
        return changed(store, (terms) => (shared ??= store.open(terms)))
      },
      finds: /limiters of other names/,
    },
    {
      flaw: 'decides each scope by itself',
      create: (clock) =>
        changed(memoryStore({ clock }), ({ name, policies, scopes }) => {
          const store = memoryStore({ clock })
          const ledger = store.open({ name, policies, scopes })
          const apart = scopes.map((scope) =>
            store.open({ name, scopes: [scope], policies: policies.filter((policy) => policy.scope === scope) }),
          )
          return {
            decide: (verb, keys, ...rest) => {
              const decisions = apart.map((each, n) => each.decide(verb, [keys[n] as string], ...rest))
              return decisions.find((decision) => 'allowed' in decision && !decision.allowed) ?? decisions[0]!
            },
            reserve: (...call) => ledger.reserve(...call),
            reset: (keys) => apart.forEach((each, n) => void each.reset([keys[n] as string])),
          }
        }),
      finds: /all of them commit or none/,
    },
    {
      flaw: 'reads, waits and writes',
      create: (clock) => {
        const store = memoryStore({ clock })
        return changed(asyncStore(store), (terms) => {
          const ledger = store.open(terms)
          return {
            decide: async (verb, keys, cost, extras) => {
              const seen = await ledger.decide('peek', keys, cost)
              await Promise.resolve()
              if (verb === 'consume' && seen.allowed) await ledger.decide('charge', keys, cost)
              return verb === 'consume' ? seen : ledger.decide(verb, keys, cost, extras)
            },
            reserve: (...call) => ledger.reserve(...call),
            reset: (keys) => ledger.reset(keys),
          }
        })
      },
      finds: /one at a time/,
    },
  ])('$flaw', async ({ create, finds }) => {
    const cases: { name: string; run: () => Promise<void> }[] = []
    testStore({ name: 'broken', create, test: (name, run) => cases.push({ name, run }) })
    expect(await failure(cases.filter(({ name }) => finds.test(name)))).toBeInstanceOf(Error)
  })
})

test('the contract closes every store that it opened, also after a failure', async () => {
  const opened = new Set<Store>()
  const cases: (() => Promise<void>)[] = []
  const create = () => {
    const store = memoryStore({ clock: () => 0 })
    opened.add(store)
    return store
  }
  testStore({ name: 'counted', create, close: (store) => opened.delete(store), test: (_, run) => cases.push(run) })
  const outcomes = await Promise.allSettled(cases.map((run) => run()))
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected']))
  expect(opened.size).toBe(0)
})
