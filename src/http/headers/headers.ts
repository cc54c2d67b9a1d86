import type { Details } from '../../algorithms/evaluation/index.ts'
import type { Policy } from '../../algorithms/index.ts'
import { isCounter } from '../../algorithms/windows/index.ts'
import type { Key } from '../../limiter/index.ts'
import { type Decision, join } from '../../policy/index.ts'
import { type Dialect, type ReportedPolicy, type Sink, verdictOf, type Writer } from './dialect.ts'
import { drafts } from './drafts.ts'
import { type HeadersOption, type HeaderWriter, readHeaders } from './headers-option.ts'
import { legacy } from './legacy.ts'
import { PartitionKeys } from './partition-keys.ts'

function draftOf(dialect: Dialect) {
  return dialect === 'legacy' ? undefined : drafts[dialect]
}

/** Writes the fields of a response, for the policies of one limiter. */
export class Headers {
  /** The details that decisions must include for these fields. */
  readonly details: Details
  readonly #writers: readonly Writer[]
  readonly #reported: readonly ReportedPolicy[] = []
  readonly #near: boolean = false

  /** @throws HeadgateError `HEADGATE_OPTION` for a dialect or option that does not exist */
  constructor(option: HeadersOption, policies: readonly Policy[]) {
    if (typeof option === 'function') {
      this.#writers = [ownWriter(option)]
      this.details = { at: true }
      return
    }
    const { dialects, near, legacy: names, pk } = readHeaders(option)
    const partitions = pk === undefined ? undefined : new PartitionKeys(pk)
    const all = reportedOf(policies)
    const windows = reportedOf(policies.filter((policy) => !isInFlight(policy)))
    const reportedBy = (dialect: Dialect) => (draftOf(dialect)?.withoutWindow ? all : windows)
    const writing = dialects.filter((dialect) => reportedBy(dialect).length > 0)
    const tellsAll = writing.some((dialect) => draftOf(dialect)?.withoutWindow)
    this.#reported = tellsAll ? all : all.filter(({ policy }) => !isInFlight(policy))
    this.#near = near
    if (names !== undefined) legacy([], names) // throws for wrong names also if no dialect uses them
    this.#writers = writing.map((dialect, n) => {
      const later = writing.slice(n + 1).filter((each) => each !== 'legacy')
      const own = { policies: later.length === 0, left: later.every((each) => each === 'draft-6') }
      const reported = reportedBy(dialect)
      const draft = draftOf(dialect)
      const write = draft === undefined ? legacy(reported, names) : draft.make(reported, own, partitions)
      return draft?.withoutWindow ? write : windowsOnly(policies, write)
    })
    this.details = { at: writing.includes('legacy'), nextAfter: writing.some((dialect) => draftOf(dialect)?.nextAfter) }
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

/** True for units in flight. They come back when requests end, so no window or reset time would be true of them. */
function isInFlight({ algorithm }: Policy): boolean {
  return algorithm.leases === true
}

/**
 * The writer of a dialect whose fields need a window: it gets the decision of the other policies.
 * @param write made for those policies
 */
function windowsOnly(policies: readonly Policy[], write: Writer): Writer {
  if (!policies.some(isInFlight)) return write
  return (decision, sink, response, key) => {
    const verdicts = decision.policies.filter((_verdict, n) => !isInFlight(policies[n] as Policy))
    const allowed = verdicts.every((verdict) => verdict.allowed || verdict.shadow)
    write(join(allowed, verdicts, decision.source, decision.at), sink, response, key)
  }
}
