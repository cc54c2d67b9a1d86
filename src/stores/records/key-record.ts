/*
 * The record of one key: a text with the state of each policy, by the policy's name.
 *
 *     [1, ["15m", ["slidingWindow", 900000000, 100], 1767225900000000, [1767225600000000, ...]], ...]
 *      |    name    kind, span, parameters           full again at (us)  state
 *      version
 *
 * A ban by a call of `ban` is stored as a state with the name '', which no policy can have. The state has the ban's start, its end and its
 * reason.
 *
 * If the limit of a policy was changed, the policy continues its earlier state. The state of an unknown policy (of another version
 * of the application that runs at the same time) stays in the record, until the key has its full quota under that policy.
 */

import { isPast, type StoredBan } from '../../algorithms/bans/index.ts'
import { effectiveTime, type PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import { type Algorithm, type Numbers, type Policy, Report, type StateRule } from '../../algorithms/index.ts'
import { HeadgateError, shown } from '../../common/index.ts'
import type { KeptKey } from '../../inspection/index.ts'
import { type KeyState, KeyStates } from '../contract/index.ts'

const version = 1

type PackedDefinition = readonly [kind: string, span: number, ...parameters: number[]]
type PackedState = readonly [name: string, definition: PackedDefinition, fullAt: number, state: number[]]
type PackedBan = readonly [from: number, until: number, reason?: string]

/** The name of the ban in a key's list of states. No policy has this name. */
const banName = ''

interface SavedState extends KeyState {
  /** When the key has its full quota again under the policy, in microseconds since the epoch. */
  readonly fullAt: number
  /** The state as it was read from the text, which `save` writes again unchanged; undefined for a state that this process has written. */
  readonly packed?: PackedState
}

/** The text to be saved for a key. */
export interface SavedText {
  readonly text: string
  /** For how many microseconds the text is needed. After this time, the text means the same as no text. */
  readonly life: number
}

/** The text for a key that was reset: a record without states, so that the key has its full quota under every policy. */
export const emptyRecord: string = JSON.stringify([version])

/** The beginning of the text of a key that has only the state of this policy. The rest of the text is `fullAt,[state]]]`. */
export function recordHead({ name, algorithm: { kind, span, parameters } }: Policy): string {
  return `${JSON.stringify([version, [name, [kind, span, ...parameters]]]).slice(0, -2)},`
}

const report = new Report()

export class KeyRecord extends KeyStates<SavedState> {
  readonly #found: boolean
  /** The names of the policies that `load` was called with. For other policies, only states below the full quota are saved. */
  readonly #used = new Set<string>()

  /**
   * @param text the text of the key in the store; undefined if the key has no text
   * @param replaced true if the first command on the key is `reset`, so that the old text does not matter and is not read
   * @throws HeadgateError `HEADGATE_STORE_RECORD` if the text does not have the format of this version
   */
  constructor(text: string | undefined, replaced = false) {
    const packed = text === undefined || replaced ? [] : parse(text)
    super(
      new Map(packed.filter(([name]) => name !== banName).map(stateOf)),
      banOf(packed.find(([name]) => name === banName)),
    )
    this.#found = text !== undefined
  }

  override load(policies: readonly PolicyEvaluation[], now: number, onChange: StateRule): void {
    for (const { policy } of policies) this.#used.add(policy.name)
    super.load(policies, now, onChange)
  }

  protected override stateOf(algorithm: Algorithm, s: number[], now: number): SavedState {
    return { ...super.stateOf(algorithm, s, now), fullAt: fullAt(algorithm, s, now) }
  }

  /** Deletes the states. If the store has no text for the key, nothing has to be saved. */
  override reset(): void {
    super.reset()
    this.changed = this.#found
  }

  save(now: number): SavedText {
    const states: PackedState[] = []
    let latest = now
    for (const [name, { definition, fullAt, s, packed }] of this.states) {
      if (fullAt <= now && !this.#used.has(name)) continue
      const { kind, span, parameters } = definition
      states.push(packed ?? [name, [kind, span, ...parameters], fullAt, s])
      latest = Math.max(latest, fullAt)
    }
    const { storedBan: ban } = this
    if (ban !== undefined && !isPast(ban, now)) {
      states.push(packBan(ban))
      latest = Math.max(latest, ban.until)
    }
    return { text: JSON.stringify([version, ...states]), life: latest - now }
  }
}

/** Writes a ban as a state. A version of headgate that knows no bans treats the ban as a state of an unknown policy, until the ban ends. */
function packBan({ from, until, reason }: StoredBan): PackedState {
  const packed: PackedBan = reason === undefined ? [from, until] : [from, until, reason]
  return [banName, ['ban', 0], until, packed as unknown as number[]]
}

function banOf(packed: PackedState | undefined): StoredBan | undefined {
  if (packed === undefined) return undefined
  const [from, until, reason] = packed[3] as unknown as PackedBan
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
 * The states and the ban in the stored text of a key, for an inspection.
 * @throws HeadgateError `HEADGATE_STORE_RECORD` if the text does not have the format of this version
 */
export function keptRecord(text: string | undefined): Pick<KeptKey, 'states' | 'ban'> {
  const { kept: states, storedBan: ban } = new KeyRecord(text)
  return { states, ban }
}

function stateOf(packed: PackedState): [name: string, state: SavedState] {
  const [name, [kind, span, ...parameters], fullAt, s] = packed
  return [name, { definition: { kind, span, parameters }, fullAt, s, packed }]
}

function fullAt(algorithm: Algorithm, s: Numbers, now: number): number {
  const at = effectiveTime(algorithm, s[0] as number, now)
  algorithm.report(s, 0, at, report)
  return at + report.reset
}
