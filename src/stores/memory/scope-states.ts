import type { PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import { type Policy, pointTo, type StateRule } from '../../algorithms/index.ts'
import { blank, type KeyTable } from './key-table.ts'
import { cells, nothing, type OverflowLocation } from './overflow-table.ts'
import { numbersOf, type State, stateTime } from './state.ts'
import type { StateRows } from './state-rows.ts'

/**
 * Finds and stores the states of the keys of one scope (kind of key), for one plan (set of policies). Only the policies of the plan that
 * limit by this scope use these states.
 */
export class Scope {
  readonly name: string
  readonly table: KeyTable
  private readonly states: StateRows
  private readonly policies: readonly PolicyEvaluation[]
  private readonly rule: StateRule
  /** True for the policies of an override. A row of a key under an override is a list of states, unlike the other rows. */
  private readonly aside: boolean
  /** True if the policies have read a list of states, and may have converted these states. */
  private readList = false
  private row = blank
  private found: OverflowLocation = nothing

  /** @param rule how a state is converted if another plan (set of policies) wrote the state with other numbers, such as another limit */
  constructor(name: string, policies: readonly PolicyEvaluation[], table: KeyTable, rule: StateRule, aside: boolean) {
    this.name = name
    this.policies = policies
    this.table = table
    this.states = table.states
    this.rule = rule
    this.aside = aside
  }

  /**
   * Lets the policies read the states of the key. Returns true if the table has a row for the key. Without a row, call `claim`
   * before the states are written.
   */
  find(key: string, now: number): boolean {
    const { shared, mixed } = this.states
    return shared ? this.findShared(key, now) : mixed ? this.findMixed(key, now) : this.findAlone(key, now)
  }

  /** Does the same as `find`, for a limiter with only one plan (set of policies): no other plan can have written its states. */
  findAlone(key: string, now: number): boolean {
    const row = this.table.find(key)
    this.row = row
    this.states.point(this.policies, row)
    return row !== blank || this.recall(key, now)
  }

  private recall(key: string, now: number): boolean {
    this.found = this.table.recall(key)
    if (this.found === nothing) return false
    for (const [n, { s, i }] of this.table.recalled(this.found, now).entries()) {
      const policy = this.policies[n] as PolicyEvaluation
      policy.s = s
      policy.i = i
    }
    return false
  }

  private findMixed(key: string, now: number): boolean {
    const row = this.table.find(key)
    if (row === blank || this.readList || this.aside || this.states.isList(row)) return this.findRarely(key, row, now)
    this.row = row
    this.states.point(this.policies, row)
    return true
  }

  /** Does the rest of `findMixed` in rare cases: the key has no row, or a list of states was read, is stored or has to be made. */
  private findRarely(key: string, row: number, now: number): boolean {
    this.row = row
    this.found = row === blank ? this.table.recall(key) : nothing
    const isAlone = row === blank ? this.found === nothing : !this.states.isList(row)
    if (isAlone && !this.aside) this.pointAlone(row)
    else {
      if (row !== blank) this.states.makeList(row, now)
      this.pointShared(now)
    }
    return row !== blank
  }

  /** Lets the policies read a row that is not a list of states. */
  private pointAlone(row: number): void {
    this.states.point(this.policies, row)
    if (this.readList) this.forgetList()
  }

  private forgetList(): void {
    this.readList = false
    for (const policy of this.policies) {
      policy.carried = false
      policy.foreign = undefined
    }
  }

  private findShared(key: string, now: number): boolean {
    this.row = this.table.find(key)
    this.found = this.row === blank ? this.table.recall(key) : nothing
    this.pointShared(now)
    return this.row !== blank
  }

  /**
   * For each policy, finds the state that was stored under the name of the policy. Another plan (set of policies) may have stored
   * this state with other numbers, such as another limit.
   */
  private pointShared(now: number): void {
    const { table, states, row, found } = this
    this.readList = true
    const known = row === blank ? table.recalled(found, now) : states.read(row)
    const { policies } = this
    for (let n = 0; n < policies.length; n++) {
      const evaluation = policies[n] as PolicyEvaluation
      const left = named(evaluation.policy.name, known)
      pointTo(evaluation, left && { definition: left.policy.algorithm, s: left.s }, now, this.rule, () =>
        numbersOf(left as State),
      )
    }
  }

  /** Gives a row of the table to the key of the last `find`, if this key has no row. Called before states are written. */
  claim(key: string, now: number): void {
    if (this.row === blank) this.claimRow(key, now)
  }

  private claimRow(key: string, now: number): void {
    const { table, states, policies, found } = this
    this.row = table.claim(key, found, now)
    if (this.aside && !states.shared) states.makeList(this.row, now)
    if (states.isList(this.row)) {
      this.pointShared(now)
      return
    }
    if (states.mixed) this.pointAlone(this.row)
    else states.point(policies, this.row)
    if (found !== cells) return
    for (const policy of policies) policy.algorithm.reopen?.(policy.s, policy.i, stateTime(policy, now))
  }

  /** Calls `claim` for a refund, but only if the key has a stored state: a key without a state has no units to give back. */
  claimKnown(key: string, now: number): void {
    if (this.found !== nothing) this.claim(key, now)
  }

  /**
   * Moves each state that can have reservations to a separate array, which can grow. Called after `claim`, before a reservation is
   * made.
   * @param expire true for a reservation that expires
   */
  openBookings(expire: boolean): void {
    this.states.openBookings(this.policies, this.row, expire)
  }

  /**
   * Stores the states that a commit wrote. If this plan (set of policies) converted a state of another plan only to read it, the
   * converted state is not stored.
   */
  keep(now: number): void {
    if (this.readList && this.row !== blank) this.states.keep(this.policies, this.row, now)
  }

  /**
   * Notes in the table if a policy of this scope (kind of key) refused the key. When the table is full, such a key is evicted only if all
   * checked keys are refused.
   */
  noteRefused(): void {
    const { table, row } = this
    if (row !== blank && !table.isRefused(row) && refuses(this.policies)) table.noteRefused(row)
  }

  /**
   * Does the same as `noteRefused` for a call with a list of costs, if a cost was refused and a later cost was admitted.
   * @param refusers the policies that have refused a cost of the list
   */
  noteRefusers(refusers: ReadonlySet<Policy>): void {
    if (this.row !== blank && this.policies.some(({ policy }) => refusers.has(policy))) this.table.noteRefused(this.row)
  }
}

function named(name: string, states: readonly State[]): State | undefined {
  for (let n = 0; n < states.length; n++) {
    const state = states[n] as State
    if (state.policy.name === name) return state
  }
  return undefined
}

function refuses(policies: readonly PolicyEvaluation[]): boolean {
  for (let n = 0; n < policies.length; n++) {
    const { wait, policy } = policies[n] as PolicyEvaluation
    if (wait > 0 && !policy.shadow) return true
  }
  return false
}
