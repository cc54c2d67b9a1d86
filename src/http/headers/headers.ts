import type { Policy } from '../../algorithms/algorithm.ts'
import type { Details } from '../../algorithms/evaluation.ts'
import type { Decision } from '../../decision.ts'
import type { Key } from '../../limiter.ts'
import { type OwnLists, type ReportedPolicy, type Sink, verdictOf, type Writer } from './dialect.ts'
import { draft6 } from './draft-6.ts'
import { draft7 } from './draft-7.ts'
import { draft8 } from './draft-8.ts'
import { draft11 } from './draft-11.ts'
import { type Dialect, type HeadersOption, type ReadHeaders, readHeaders } from './headers-option.ts'
import { legacy } from './legacy.ts'
import { PartitionKeys } from './partition-keys.ts'

/** Writes the fields of a response, for the policies of one limiter. */
export class Headers {
  /** The details that decisions must include for these fields. */
  readonly details: Details
  readonly #writers: readonly Writer[]
  readonly #reported: readonly ReportedPolicy[]
  readonly #near: boolean

  /** @throws HeadgateError `HEADGATE_OPTION` for a dialect or option that does not exist */
  constructor(option: HeadersOption, policies: readonly Policy[]) {
    const options = readHeaders(option)
    this.#reported = policies.map((policy, index) => ({ policy, index })).filter(isReported)
    this.#near = options.near
    const writers = writersOf(options, this.#reported)
    this.#writers = this.#reported.length > 0 ? writers : []
    const uses = (dialect: Dialect) => this.#reported.length > 0 && options.dialects.includes(dialect)
    this.details = { at: uses('legacy'), nextAfter: uses('draft-11') }
  }

  write<Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key): void {
    if (decision.source === 'open') return // the request was not counted: no number would be true
    if (this.#near && !this.#isNear(decision)) return
    const writers = this.#writers
    for (let n = 0; n < writers.length; n++) (writers[n] as Writer)(decision, sink, response, key)
  }

  /** True on a refusal, and once 80 per cent of the most that a policy admits is used. */
  #isNear(decision: Decision): boolean {
    if (!decision.allowed) return true
    return this.#reported.some((each) => verdictOf(decision, each).remaining * 5 <= each.policy.burst)
  }
}

/** A shadow policy promises nothing, and a penalty is no quota. */
function isReported({ policy }: ReportedPolicy): boolean {
  return !policy.shadow && !policy.algorithm.punishes
}

function writersOf(
  { dialects, legacy: names, pk }: ReadHeaders,
  reported: readonly ReportedPolicy[],
): readonly Writer[] {
  const partitions = pk === undefined ? undefined : new PartitionKeys(pk)
  const make: Record<Dialect, (own: OwnLists) => Writer> = {
    legacy: () => legacy(reported, names),
    'draft-6': (own) => draft6(reported, own),
    'draft-7': (own) => draft7(reported, own),
    'draft-8': (own) => draft8(reported, own, partitions),
    'draft-11': (own) => draft11(reported, own, partitions),
  }
  if (names !== undefined) legacy(reported, names) // throws for wrong names also if no dialect uses them
  return dialects.map((dialect, n) => {
    const later = dialects.slice(n + 1).filter((each) => each !== 'legacy')
    return make[dialect]({ policies: later.length === 0, left: later.every((each) => each === 'draft-6') })
  })
}
