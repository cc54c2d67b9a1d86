import fc from 'fast-check'
import { describe, test } from 'vitest'
import { carryRules } from '../../src/algorithms/carry.ts'
import type { Clock, Store } from '../../src/index.ts'
import { recordKey, recordKeyStart } from '../../src/stores/records/record-key.ts'
import { ManualClock, testStore } from '../../src/testing/index.ts'
import { algorithms, compare, plansOf, policiesOf, type Script, type Subject, scripts } from './differential.ts'
import { describeGolden } from './golden-on-store.ts'
import { recordStates } from './states.ts'

export interface WholeStore {
  name: string
  /** An empty store on the server of this test file: `prefix` is no other's. */
  create(clock: Clock, prefix: string): Store
  /** The text that the server has under a key, of a store that keeps records. */
  text?(key: string): Promise<string | undefined>
  /** Whether each call goes by the time at which it arrives, and not at which it is asked. */
  arrives?: boolean
  /** Random scripts for each algorithm. */
  runs: number
}

let prefixes = 0

/** All that says a store decides as the definition does: the contract, random scripts, and the exact oracles. */
export function describeWholeStore({ name, create, text, arrives, runs }: WholeStore): void {
  testStore({ name, test, create: (clock) => create(clock, `contract-${prefixes++}`) })

  const played = (script: Script): Script => (arrives ? { ...script, awaited: true } : script)
  const subjectOf = (): Subject => {
    const prefix = `differential-${prefixes++}`
    let now: Clock = () => 0
    const store = create(() => now(), prefix)
    return {
      store(clock) {
        now = clock
        return store
      },
      ...(text && {
        async states(limiter, scope, id, own) {
          return recordStates(await text(recordKey(prefix, recordKeyStart(prefix, limiter, scope), id)), own)
        },
      }),
    }
  }

  describe(`${name}: the same decisions and states as the definition and as memory`, () => {
    const names = [...(Object.keys(algorithms) as (keyof typeof algorithms)[]), 'several', 'punished'] as const
    test.each(names)(
      '%s',
      async (algorithm) => {
        const subject = subjectOf()
        const same = fc.asyncProperty(policiesOf(algorithm), scripts, (policies, script) =>
          compare(subject, policies, played(script)),
        )
        await fc.assert(same, { numRuns: algorithm === 'several' ? 2 * runs : runs })
      },
      120_000,
    )

    test.each(carryRules)(
      'under several plans by turns, by the rule %s',
      async (rule) => {
        const subject = subjectOf()
        const same = fc.asyncProperty(plansOf(), scripts, (plans, script) =>
          compare(subject, plans, played(script), rule),
        )
        await fc.assert(same, { numRuns: 2 * runs })
      },
      120_000,
    )
  })

  const clock = new ManualClock(0)
  let store: Store | undefined
  describeGolden(name, clock, () => (store ??= create(clock.now, `golden-${prefixes++}`)))
}
