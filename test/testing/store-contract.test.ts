import { describe, expect, test } from 'vitest'
import { type Clock, type Decision, memoryStore, type Store } from '../../src/index.ts'
import type { Command, Ledger } from '../../src/store.ts'
import { testStore } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'

testStore({ name: 'memory', test, create: (clock) => memoryStore({ clock }) })
testStore({ name: 'memory behind promises', test, create: async (clock) => asyncStore(memoryStore({ clock })) })

describe('the contract finds a store that', () => {
  /** A memory store with one flaw: `spoil` changes each command, or its outcome. */
  const broken = (spoil: (command: Command, ledger: Ledger) => unknown) => (clock: Clock) => {
    const store = memoryStore({ clock })
    return changed(store, (terms) => {
      const ledger = store.open(terms)
      return { run: (command) => spoil(command, ledger) as never }
    })
  }
  const changed = (store: Store, open: Store['open']): Store => ({
    synchronous: store.synchronous,
    traits: { fallible: false },
    open,
  })
  const keyed = (change: (key: string) => string) =>
    broken((command, ledger) => ledger.run({ ...command, keys: command.keys.map((key) => change(key as string)) }))

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
          run: (command) => memoryStore({ clock }).open(terms).run(command),
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
    {
      flaw: 'ignores reset',
      create: broken((command, ledger) => (command.verb === 'reset' ? undefined : ledger.run(command))),
      finds: /the memory store/,
    },
    { flaw: 'folds case', create: keyed((key) => key.toLowerCase()), finds: /hostile keys/ },
    { flaw: 'trims keys', create: keyed((key) => key.trim()), finds: /hostile keys/ },
    { flaw: 'truncates long keys', create: keyed((key) => key.slice(0, 255)), finds: /hostile keys/ },
    { flaw: 'writes UTF-8', create: keyed((key) => Buffer.from(key).toString()), finds: /hostile keys/ },
    {
      flaw: 'lets a peek consume',
      create: broken((command, ledger) =>
        ledger.run(command.verb === 'peek' ? { ...command, verb: 'consume' } : command),
      ),
      finds: /peek and refused calls/,
    },
    {
      flaw: 'ignores maxWait',
      create: broken(({ maxWait, ...command }, ledger) => ledger.run(command)),
      finds: /a slot each/,
    },
    {
      flaw: 'shows the states of another key',
      create: broken((command, ledger) => {
        if (command.verb !== 'inspect') return ledger.run(command)
        return ledger.run({ ...command, keys: command.keys.map((key) => `${key} 2`) })
      }),
      finds: /the memory store/,
    },
    {
      flaw: 'loses the tickets of reservations',
      create: broken((command, ledger) => {
        return ledger.run(command.verb === 'settle' ? { ...command, tickets: undefined } : command)
      }),
      finds: /the memory store/,
    },
    {
      flaw: 'settles as if it were a refund',
      create: broken((command, ledger) => {
        const { verb, keys, costs = 1 } = command
        if (verb !== 'settle' || typeof costs === 'number') return ledger.run(command)
        return ledger.run({ verb: 'refund', keys: keys as string[], costs: costs.map((units) => Math.max(0, -units)) })
      }),
      finds: /has not drained|after a reset/,
    },
    {
      flaw: 'takes the largest cost under every policy',
      create: broken((command, ledger) => {
        const { verb, costs = 1 } = command
        if (typeof costs === 'number' || verb === 'settle') return ledger.run(command)
        return ledger.run({ ...command, costs: Math.max(...costs) })
      }),
      finds: /a cost of its own/,
    },
    {
      flaw: 'reserves again instead of renewing',
      create: broken((command, ledger) => {
        return ledger.run(command.verb === 'renew' ? { ...command, verb: 'reserve', tickets: undefined } : command)
      }),
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
            run: (command) => {
              const { verb, keys } = command
              if (verb === 'reserve' || verb === 'renew') return ledger.run(command)
              const outcomes = apart.map((each, n) => each.run({ ...command, keys: [keys[n] as string] }))
              const refused = outcomes.find(
                (each) => each && 'allowed' in (each as object) && !(each as Decision).allowed,
              )
              return (refused ?? outcomes[0]) as never
            },
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
            run: async (command) => {
              if (command.verb !== 'consume') return await ledger.run(command)
              const seen = (await ledger.run({ ...(command as Command<'consume'>), verb: 'peek' })) as Decision
              await Promise.resolve()
              if (seen.allowed) await ledger.run({ ...(command as Command<'consume'>), verb: 'charge' })
              return seen as never
            },
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
