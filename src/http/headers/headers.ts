import type { Policy } from '../../algorithms/algorithm.ts'
import { isCounter } from '../../algorithms/counter.ts'
import type { Details } from '../../algorithms/evaluation.ts'
import type { Decision } from '../../decision.ts'
import type { Key } from '../../limiter.ts'
import { type OwnLists, type ReportedPolicy, type Sink, verdictOf, type Writer } from './dialect.ts'
import { draft6 } from './draft-6.ts'
import { draft7 } from './draft-7.ts'
import { draft8 } from './draft-8.ts'
import { draft11 } from './draft-11.ts'
import { type Dialect, type HeadersOption, type HeaderWriter, type ReadHeaders, readHeaders } from './headers-option.ts'
import { legacy } from './legacy.ts'
import { PartitionKeys } from './partition-keys.ts'
import { isInFlight, windowsOnly } from './windows-only.ts'

/** Dialects that can tell a policy without a window. */
const withoutWindow: readonly Dialect[] = ['draft-8', 'draft-11']

/** Writes the fields of a response, for the policies of one limiter. */
export class Headers {
  /** The details that decisions must include for these fields. */
  readonly details: Details
  readonly #writers: readonly Writer[]
  readonly #reported: readonly ReportedPolicy[]
  readonly #near: boolean

  /** @throws HeadgateError `HEADGATE_OPTION` for a dialect or option that does not exist */
  constructor(option: HeadersOption, policies: readonly Policy[]) {
    if (typeof option === 'function') {
      this.#reported = []
      this.#near = false
      this.#writers = [ownWriter(option)]
      this.details = { at: true }
      return
    }
    const options = readHeaders(option)
    const { dialects } = options
    const all = reportedOf(policies)
    const windows = reportedOf(policies.filter((policy) => !isInFlight(policy)))
    const reportedBy = (dialect: Dialect) => (withoutWindow.includes(dialect) ? all : windows)
    const writing = dialects.filter((dialect) => reportedBy(dialect).length > 0)
    this.#reported = writing.some((dialect) => withoutWindow.includes(dialect))
      ? all
      : all.filter(({ policy }) => !isInFlight(policy))
    this.#near = options.near
    this.#writers = writersOf(options, writing, policies, reportedBy)
    this.details = { at: writing.includes('legacy'), nextAfter: writing.includes('draft-11') }
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

function ownWriter(write: HeaderWriter): Writer {
  return (decision, sink, response, key) => {
    write(decision, (name, value) => sink.setHeader(response, name, value), key)
  }
}

/** A shadow policy promises nothing, and a penalty or a counter is no quota. */
function reportedOf(policies: readonly Policy[]): readonly ReportedPolicy[] {
  return policies
    .map((policy, index) => ({ policy, index }))
    .filter(({ policy }) => !policy.shadow && !policy.algorithm.punishes && !isCounter(policy))
}

function writersOf(
  { legacy: names, pk }: ReadHeaders,
  dialects: readonly Dialect[],
  policies: readonly Policy[],
  reportedBy: (dialect: Dialect) => readonly ReportedPolicy[],
): readonly Writer[] {
  const partitions = pk === undefined ? undefined : new PartitionKeys(pk)
  const windows = (write: Writer) => windowsOnly(policies, write)
  const make: Record<Dialect, (reported: readonly ReportedPolicy[], own: OwnLists) => Writer> = {
    legacy: (reported) => windows(legacy(reported, names)),
    'draft-6': (reported, own) => windows(draft6(reported, own)),
    'draft-7': (reported, own) => windows(draft7(reported, own)),
    'draft-8': (reported, own) => draft8(reported, own, partitions),
    'draft-11': (reported, own) => draft11(reported, own, partitions),
  }
  if (names !== undefined) legacy([], names) // throws for wrong names also if no dialect uses them
  return dialects.map((dialect, n) => {
    const later = dialects.slice(n + 1).filter((each) => each !== 'legacy')
    return make[dialect](reportedBy(dialect), {
      policies: later.length === 0,
      left: later.every((each) => each === 'draft-6'),
    })
  })
}
