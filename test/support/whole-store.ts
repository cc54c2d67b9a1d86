import { describe, test } from 'vitest'
import { carryRules } from '../../src/algorithms/carry.ts'
import type { Clock, Store } from '../../src/index.ts'
import { recordKey, recordKeyStart } from '../../src/stores/records/record-key.ts'
import { ManualClock, testStore } from '../../src/testing/index.ts'
import { day, inDepth } from './depth.ts'
import { algorithms, compare, plansOf, policiesOf, type Script, type Subject, scripts } from './differential.ts'
import fc from './fast-check.ts'
import { describeGolden } from './golden-on-store.ts'
import { describePlanLaws } from './plan-laws.ts'
import { recordStates } from './states.ts'

export interface WholeStore {
  name: string
  /** Creates an empty store on the server of the test file. Each prefix is used once. */
  create(clock: Clock, prefix: string): Store
  /** The text that the server has under a key, if the store keeps records. */
  text?(key: string): Promise<string | undefined>
  /** True if a call is decided by the time at which it reaches the server, and not by the time at which it was made. */
  usesArrivalTime?: boolean
  /** How many random scripts each algorithm plays. */
  runs: number
  /** True to run the contract with `quickTest`, and three traces of each oracle. */
  quick?: boolean
}

let prefixes = 0

const singleAlgorithm = /, (every verb|countRefused|shadow): /

/**
 * A `test` for the contract of a store that leaves out the timelines of single algorithms (one has all algorithms), and plays a third of
 * the other tests each day. In depth, it plays all.
 */
export function quickTest(title: string, run: () => Promise<void>): void {
  if (inDepth || (!singleAlgorithm.test(title) && [...title].length % 3 === day % 3))
    test.concurrent(title, run, 120_000)
}

/** All tests that a store decides as the reference store does: the contract, random scripts and the exact oracles. */
export function describeWholeStore({ name, create, text, usesArrivalTime, runs, quick = false }: WholeStore): void {
  const declare = quick ? quickTest : test.concurrent
  testStore({ name, test: declare, create: (clock) => create(clock, `contract-${prefixes++}`) })

  const played = (script: Script): Script => (usesArrivalTime ? { ...script, awaited: true } : script)
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
        withdraws: true,
        async states(limiter, scope, id, own) {
          return recordStates(await text(recordKey(prefix, recordKeyStart(prefix, limiter, scope), id)), own)
        },
      }),
    }
  }

  describe(`${name}: the same decisions and states as the reference store and the memory store`, () => {
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
      'under several plans in turn, with the rule %s',
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

  let now: Clock = () => 0
  const plans = create(() => now(), `plans-${prefixes++}`)
  const onClock = (clock: Clock): Store => {
    now = clock
    return plans
  }
  describePlanLaws(name, onClock, { numRuns: 3 * runs })

  const clock = new ManualClock(0)
  let store: Store | undefined
  describeGolden(name, clock, () => (store ??= create(clock.now, `golden-${prefixes++}`)), quick ? 3 : Infinity)
}
