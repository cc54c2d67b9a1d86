import type { Policy } from '../../algorithms/algorithm.ts'
import type { Details } from '../../algorithms/evaluation.ts'
import type { Decision } from '../../decision.ts'
import type { Key } from '../../limiter.ts'
import { type Sink, type Told, verdictOf, type Writer } from './dialect.ts'
import { draft6 } from './draft-6.ts'
import { draft7 } from './draft-7.ts'
import { draft8 } from './draft-8.ts'
import { draft11 } from './draft-11.ts'
import { legacy } from './legacy.ts'
import { type Dialect, type HeadersOption, type ReadHeaders, readHeaders } from './options.ts'
import { PartitionKeys } from './partition-key.ts'

/** Which fields a response carries, made ready for one limiter. */
export class Headers {
  /** What decisions have to tell for them. */
  readonly details: Details
  readonly #writers: readonly Writer[]
  readonly #told: readonly Told[]
  readonly #near: boolean

  /** @throws HeadgateError `HEADGATE_OPTION` for a dialect or option that does not exist */
  constructor(wanted: HeadersOption, policies: readonly Policy[]) {
    const options = readHeaders(wanted)
    this.#told = policies.map((policy, place) => ({ policy, place })).filter(isTold)
    this.#near = options.near === true
    const writers = writersOf(options, this.#told)
    this.#writers = this.#told.length > 0 ? writers : []
    const uses = (dialect: Dialect) => this.#told.length > 0 && options.dialects.includes(dialect)
    this.details = { at: uses('legacy'), nextAfter: uses('draft-11') }
  }

  write<Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key): void {
    if (decision.source === 'open') return // nothing was counted: there is nothing true to tell
    if (this.#near && !this.#isNear(decision)) return
    const writers = this.#writers
    for (let n = 0; n < writers.length; n++) (writers[n] as Writer)(decision, sink, response, key)
  }

  /** Refused, or 80 per cent used of what a policy admits at best. */
  #isNear(decision: Decision): boolean {
    return !decision.allowed || this.#told.some((each) => verdictOf(decision, each).remaining * 5 <= each.policy.burst)
  }
}

/** A shadow is not promised to anybody; a penalty is no quota. */
function isTold({ policy }: Told): boolean {
  return !policy.shadow && !policy.algorithm.punishes
}

function writersOf({ dialects, legacy: names, pk }: ReadHeaders, told: readonly Told[]): readonly Writer[] {
  const partitions = pk === undefined ? undefined : new PartitionKeys(pk)
  const make: Record<Dialect, () => Writer> = {
    legacy: () => legacy(told, names),
    'draft-6': () => draft6(told),
    'draft-7': () => draft7(told),
    'draft-8': () => draft8(told, partitions),
    'draft-11': () => draft11(told, partitions),
  }
  return dialects.map((dialect) => make[dialect]())
}
