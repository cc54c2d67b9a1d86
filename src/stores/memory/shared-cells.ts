/*
 * What keys share under policies that vary: cells of each definition by itself, made when the first state of it has to be
 * merged. A key starts from all that it finds under the name of its policy, so that it does not matter which was its own.
 *
 * Their number is bounded. Definitions that nothing is left of make room; where there is none all the same, the cell is
 * closed: whatever is in it, nothing is left until all of it is like new.
 */
import { type Algorithm, type Policy, Report } from '../../algorithms/algorithm.ts'
import { Bucket } from '../../algorithms/bucket.ts'
import { makePolicy } from '../../algorithms/define-policy.ts'
import { sameDefinition } from '../../algorithms/revive.ts'
import { type Cells, FlatStates, isNew, left, type State, timeOf } from './flat-states.ts'

/** The most definitions, and bytes of their cells. */
const mostDefinitions = 64
const mostBytes = 16 * 2 ** 20

/** A bucket that drains in the time until a state is like new. A clock that goes back by less than 366 days is waited for. */
const longest = 366 * 86_400_000_000
export const closed: Policy = makePolicy(
  { name: '', scope: '', limit: 1, window: 1, burst: longest, countRefused: false, shadow: false },
  new Bucket(1, 1, longest),
  () => closed,
)

const report = new Report()

function closing(state: State, now: number): State {
  const at = timeOf(state, now)
  state.policy.algorithm.report(state.s, state.i, at, report)
  return { policy: closed, s: [at, report.reset, 0], i: 0 }
}

/** A state of which nothing is left. A penalty cannot be used up, and is never closed. */
export function usedUp(algorithm: Algorithm, at: number): number[] {
  const s: number[] = new Array(algorithm.slots).fill(0)
  algorithm.count(s, 0, at, 1)
  algorithm.report(s, 0, at, report)
  if (report.remaining > 0) algorithm.count(s, 0, at, report.remaining)
  return s
}

class Definition {
  readonly policy: Policy
  readonly states: FlatStates
  /** How many of its cells are in use. */
  used = 0

  constructor(policy: Policy, cells: number) {
    this.policy = policy
    this.states = new FlatStates([policy], true)
    this.states.resize(cells)
  }

  is({ name, algorithm }: Policy): boolean {
    return this.policy.name === name && sameDefinition(this.policy.algorithm, algorithm)
  }

  uses(cell: number): boolean {
    return this.states.read(cell).some((state) => !isNew(state))
  }
}

export class SharedCells implements Cells {
  #cells = 0
  #definitions: Definition[] = []
  #closed: Definition | undefined

  resize(cells: number): void {
    this.#cells = cells
  }

  merge(states: readonly State[], cell: number, now: number): void {
    for (const state of states) {
      const definition = this.#definitionOf(state.policy)
      if (!definition.uses(cell)) definition.used++
      definition.states.merge([definition.policy === closed ? closing(state, now) : state], cell, now)
    }
  }

  #definitionOf(policy: Policy): Definition {
    return this.#definitions.find((definition) => definition.is(policy)) ?? this.#define(policy)
  }

  #define(policy: Policy): Definition {
    if (!this.#fits(policy)) this.#definitions = this.#definitions.filter(({ used }) => used > 0)
    if (!this.#fits(policy) || policy === closed) {
      this.#closed ??= new Definition(closed, this.#cells)
      return this.#closed
    }
    const definition = new Definition(policy, this.#cells)
    this.#definitions.push(definition)
    return definition
  }

  #fits({ algorithm }: Policy): boolean {
    if (algorithm.punishes) return true // one for each limiter
    const slots = this.#definitions.reduce((sum, { states }) => sum + states.bytes, 0)
    const bytes = slots + 8 * (algorithm.condensed ?? algorithm.slots)
    return this.#definitions.length < mostDefinitions && bytes * this.#cells <= mostBytes
  }

  lighter(one: number, other: number, now: number): readonly State[] {
    const states: State[] = []
    for (const definition of this.#all()) states.push(...definition.states.lighter(one, other, now))
    return states.filter((state) => left([state], now) < 1)
  }

  prune(cell: number, now: number): boolean {
    let inUse = false
    for (const definition of this.#all()) {
      if (!definition.uses(cell)) continue
      if (definition.states.prune(cell, now)) inUse = true
      else definition.used--
    }
    return inUse
  }

  /** In use. */
  #all(): Definition[] {
    const all = this.#closed === undefined ? this.#definitions : [...this.#definitions, this.#closed]
    return all.filter(({ used }) => used > 0)
  }
}
