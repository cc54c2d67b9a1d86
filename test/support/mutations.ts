/*
 * The differential test has to notice one changed token in any function of the Lua script, else it proves little. Each
 * mutation names the text that it changes, which must occur once in its part; line breaks and indentation do not matter.
 */
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { carryRules, type StateRule } from '../../src/algorithms/carry.ts'
import type { Policy } from '../../src/index.ts'
import { Script as LuaScript } from '../../src/stores/redis/script/loaded-script.ts'
import { assemble, parts, type ScriptPart } from '../../src/stores/redis/script/script.ts'
import { sampled } from './depth.ts'
import { type algorithms, compare, plansOf, policiesOf, type Script, scripts } from './differential.ts'
import fc from './fast-check.ts'
import { redisSubject } from './redis-subject.ts'

export type Algorithm = keyof typeof algorithms
type Name = Parameters<typeof policiesOf>[0] | StateRule
/** A piece of the text of a part, and its replacement. */
type Mutation = readonly [from: string, to: string]

export interface Mutations {
  part: ScriptPart
  /** Random scripts that notice the mutation: of these policies, or of plans under these carry rules. */
  on: readonly Name[]
  /** The only algorithm of those plans. */
  of?: Algorithm | undefined
  changes: readonly Mutation[]
}

/** A part as one line. */
function lineOf(part: ScriptPart): string {
  return parts[part].replace(/^\s*(--.*)?\n/gm, '').replace(/\s+/g, ' ')
}

/** The script with one piece of a part changed. */
function mutant(part: ScriptPart, from: string, to: string): string {
  return assemble({ [part]: `${lineOf(part).split(from).join(to)}\n` })
}

/** Registers a test for a seventh of these mutations, in turn from day to day, and in depth for each. */
export function testMutations(client: Redis, mutations: readonly Mutations[]): void {
  const all = mutations.flatMap((each) => each.changes.map(([from, to]) => ({ ...each, from, to })))

  test('each mutation changes a text that its part has once', () => {
    const wrong = all.filter(({ part, from }) => lineOf(part).split(from).length !== 2)
    expect(wrong.map(({ part, from }) => `${part}: ${from}`)).toEqual([])
  })

  test.each(sampled(all, Math.ceil(all.length / 7)))(
    '$part: the differential test notices $from => $to',
    async ({ part, on, of, from, to }) => {
      const text = mutant(part, from, to)
      const noticed = async (name: Name, numRuns: number) => {
        const rule = [...carryRules, 'retune' as const].find((each) => each === name)
        const policies = rule === undefined ? policiesOf(name as Parameters<typeof policiesOf>[0]) : plansOf(of)
        const property = fc.asyncProperty<[Policy[] | Policy[][], Script]>(policies, scripts, (all, script) =>
          compare(
            redisSubject(client, { whole: new LuaScript(text), changeShort: (plain) => plain }),
            all,
            script,
            rule,
          ),
        )
        return (await fc.check(property, { numRuns, seed: 7, endOnFailure: true })).failed
      }
      let failed = false
      // Few mutations show only in a rare script.
      for (const runs of [1000, 20_000]) {
        for (const name of on) failed ||= await noticed(name, runs)
      }
      expect(failed).toBe(true)
    },
  )
}
