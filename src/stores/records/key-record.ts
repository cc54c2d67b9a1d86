/*
 * The record of one key: a text with the state of each policy, by the policy's name.
 *
 *     [1, ["15m", ["slidingWindow", 900000000, 100], 1767225900000000, [1767225600000000, ...]], ...]
 *      |    name    kind, span, parameters           full again at (us)  state
 *      version
 *
 * A block by hand is the state under the name '', which no policy can have: when it was made, when it ends, and the reason.
 *
 * A policy whose numbers have changed takes over the state that it left. The state of an unknown policy, of another
 * deploy that runs at the same time, is kept as it is until the key has its full quota again under that policy.
 */
import { type Algorithm, type Numbers, type Policy, Report } from '../../algorithms/algorithm.ts'
import { type Block, blockAt, isPast, newBlock } from '../../algorithms/block.ts'
import { carry, hasFullQuota, type StateRule } from '../../algorithms/carry.ts'
import { effectiveTime, type PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { type Definition, revive, sameDefinition } from '../../algorithms/revive.ts'
import { HeadgateError, shown } from '../../errors.ts'
import type { KeptKey } from '../../inspection/kept-key.ts'

const version = 1

type PackedDefinition = readonly [kind: string, span: number, ...parameters: number[]]
type PackedState = readonly [name: string, definition: PackedDefinition, fullAt: number, state: number[]]
type PackedBlock = readonly [from: number, until: number, reason?: string]

/** Stands for the block among the names of policies. */
const blockName = ''

/** One state, with the numbers of the policy that wrote it. */
interface SavedState {
  readonly definition: Definition
  /** When the key has its full quota again, in microseconds since the epoch. */
  readonly fullAt: number
  readonly s: number[]
}

/** A record as it is saved. */
export interface SavedText {
  readonly text: string
  /** How many microseconds from now on the text is needed. After that, no text means the same. */
  readonly life: number
}

/** The text of a key that was reset: it has its full quota under every policy. */
export const emptyRecord: string = JSON.stringify([version])

/** How the text of a key begins that has only the state of this policy: what comes next is `fullAt,[state]]]`. */
export function recordHead({ name, algorithm: { kind, span, parameters } }: Policy): string {
  return `${JSON.stringify([version, [name, [kind, span, ...parameters]]]).slice(0, -2)},`
}

const report = new Report()

export class KeyRecord {
  /** By the policy's name. */
  readonly #states: Map<string, SavedState>
  readonly #found: boolean
  /** The names of the policies of the plan. */
  readonly #used = new Set<string>()
  #block: Block | undefined
  /** True if the record has to be saved. */
  changed = false

  /**
   * @param text the text of the key in the store; undefined if there is none
   * @param replaced true if the key is reset before anything else: then its text does not matter
   * @throws HeadgateError `HEADGATE_STORE_RECORD` if the text is not a record of this version
   */
  constructor(text: string | undefined, replaced = false) {
    this.#found = text !== undefined
    const packed = text === undefined || replaced ? [] : parse(text)
    this.#states = new Map(packed.filter(([name]) => name !== blockName).map(stateOf))
    this.#block = blockOf(packed.find(([name]) => name === blockName))
  }

  /** Gives each policy its state. A state that was written under other numbers is carried over. */
  load(policies: readonly PolicyEvaluation[], now: number, onChange: StateRule): void {
    for (const policy of policies) this.#load(policy, now, onChange)
  }

  #load(evaluation: PolicyEvaluation, now: number, onChange: StateRule): void {
    const { policy, algorithm } = evaluation
    this.#used.add(policy.name)
    const saved = this.#states.get(policy.name)
    const same = saved !== undefined && sameDefinition(saved.definition, algorithm)
    const from = saved && !same ? revive(saved.definition) : undefined
    evaluation.carried = false
    evaluation.foreign = undefined
    if (same) evaluation.s = saved.s
    else if (saved === undefined || from === undefined) evaluation.s = new Array(algorithm.slots).fill(0)
    else {
      const { s } = saved
      const carried = () => carry(s.slice(), from, algorithm, now, onChange)
      evaluation.s = carried()
      if (hasFullQuota(s, 0, from, now)) return
      evaluation.carried = onChange !== 'retune'
      evaluation.foreign = { algorithm: from, s, carried }
    }
  }

  /** Puts the states that the evaluation wrote into the record. A carried state that was not written is dropped. */
  update(policies: readonly PolicyEvaluation[], now: number): void {
    if (!policies.some(({ wrote, wroteForeign }) => wrote || wroteForeign)) return
    this.changed = true
    for (const { policy, algorithm, s, wrote, wroteForeign, foreign } of policies) {
      if (wrote) this.#set(policy.name, algorithm, s, now)
      else if (wroteForeign && foreign !== undefined) this.#set(policy.name, foreign.algorithm, foreign.s, now)
    }
  }

  #set(name: string, algorithm: Algorithm, s: Numbers, now: number): void {
    this.#states.set(name, { definition: algorithm, fullAt: fullAt(algorithm, s, now), s: s as number[] })
  }

  /** The block of the key; undefined if it is over. @param writes false for a call that may write nothing */
  blockAt(now: number, writes: boolean): Block | undefined {
    const block = this.#block && blockAt(this.#block, now)
    if (block !== undefined && block !== this.#block && writes) {
      this.#block = block
      this.changed = true
    }
    return block
  }

  block(now: number, duration: number, reason: string | undefined): void {
    this.#block = newBlock(now, duration, reason)
    this.changed = true
  }

  /** Lifts the block, and those that penalties have given, under the policies of other deploys too. */
  unblock(now: number): void {
    if (this.#block !== undefined) this.changed = true
    this.#block = undefined
    for (const [name, { definition, s }] of this.#states) {
      const from = revive(definition)
      if (from?.unblock === undefined) continue
      from.unblock(s, 0, effectiveTime(from, s[0] as number, now))
      this.#set(name, from, s, now)
      this.changed = true
    }
  }

  /** Gives the key its full quota, under the policies of other deploys too. */
  reset(): void {
    this.#states.clear()
    this.#block = undefined
    this.changed = this.#found
  }

  save(now: number): SavedText {
    const states: PackedState[] = []
    let latest = now
    for (const [name, { definition, fullAt, s }] of this.#states) {
      if (fullAt <= now && !this.#used.has(name)) continue
      const { kind, span, parameters } = definition
      states.push([name, [kind, span, ...parameters], fullAt, s])
      latest = Math.max(latest, fullAt)
    }
    const block = this.#block
    if (block !== undefined && !isPast(block, now)) {
      states.push(packBlock(block))
      latest = Math.max(latest, block.until)
    }
    return { text: JSON.stringify([version, ...states]), life: latest - now }
  }
}

/** A build that knows no blocks keeps it as the state of another deploy's policy, until it ends. */
function packBlock({ from, until, reason }: Block): PackedState {
  const packed: PackedBlock = reason === undefined ? [from, until] : [from, until, reason]
  return [blockName, ['block', 0], until, packed as unknown as number[]]
}

function blockOf(packed: PackedState | undefined): Block | undefined {
  if (packed === undefined) return undefined
  const [from, until, reason] = packed[3] as unknown as PackedBlock
  return { from, until, reason }
}

function parse(text: string): readonly PackedState[] {
  try {
    const [found, ...states] = JSON.parse(text) as [number, ...PackedState[]]
    if (found === version && states.every(([, , fullAt, s]) => fullAt >= 0 && Array.isArray(s))) return states
  } catch {}
  throw new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The text under this key is no record of this version: ${shown(text)}. Choose another prefix, or delete it with reset(key).`,
  )
}

/**
 * The states and the block of a record, for those who only look.
 * @throws HeadgateError `HEADGATE_STORE_RECORD` if the text is not a record of this version
 */
export function keptRecord(text: string | undefined): Pick<KeptKey, 'states' | 'block'> {
  const packed = text === undefined ? [] : parse(text)
  const states = packed.filter(([name]) => name !== blockName).map(stateOf)
  return {
    states: states.map(([name, { definition, s }]) => ({ name, definition, s })),
    block: blockOf(packed.find(([name]) => name === blockName)),
  }
}

function stateOf([name, [kind, span, ...parameters], fullAt, s]: PackedState): [name: string, state: SavedState] {
  return [name, { definition: { kind, span, parameters }, fullAt, s }]
}

function fullAt(algorithm: Algorithm, s: Numbers, now: number): number {
  const at = effectiveTime(algorithm, s[0] as number, now)
  algorithm.report(s, 0, at, report)
  return at + report.reset
}
