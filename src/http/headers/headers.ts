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

/** Sets the rate limit fields on responses, for the policies of one limiter. */
export class Headers {
  /** The optional parts of a decision that the store must fill in, because the fields are calculated from these parts. */
  readonly details: Details
  readonly #writers: readonly Writer[]
  readonly #reported: readonly ReportedPolicy[] = []
  readonly #near: boolean = false

  /** Reads the option `headers`. @throws HeadgateError `HEADGATE_OPTION` for an unknown dialect (set of field names) or setting */
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
    if (names !== undefined) legacy([], names) // throws for invalid names, even if no dialect uses the names
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
    if (decision.source === 'open') return // the request was not counted, so its numbers are not known
    if (this.#near && !this.#isNear(decision)) return
    const writers = this.#writers
    for (let n = 0; n < writers.length; n++) (writers[n] as Writer)(decision, sink, response, key)
  }

  /** True if the decision is a refusal, or if at least 80 per cent of a policy's burst are used. */
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

/** The policies that appear in fields: no shadow policies, which refuse no client, and no penalties or counters, which have no quota. */
function reportedOf(policies: readonly Policy[]): readonly ReportedPolicy[] {
  return policies
    .map((policy, index) => ({ policy, index }))
    .filter(({ policy }) => !policy.shadow && !policy.algorithm.punishes && !isCounter(policy))
}

/** True if the policy counts units in flight. Such units are free when their requests end, so there is no reset time. */
function isInFlight({ algorithm }: Policy): boolean {
  return algorithm.leases === true
}

/**
 * Wraps the writer of a dialect (a function that sets its response fields) that can only describe policies with a window. The writer gets
 * each decision without the policies that count units in flight (of unfinished requests).
 * @param write the writer of the dialect
 */
function windowsOnly(policies: readonly Policy[], write: Writer): Writer {
  if (!policies.some(isInFlight)) return write
  return (decision, sink, response, key) => {
    const verdicts = decision.policies.filter((_verdict, n) => !isInFlight(policies[n] as Policy))
    const allowed = verdicts.every((verdict) => verdict.allowed || verdict.shadow)
    // No verdict shows a ban by hand, so a decision with a ban keeps its numbers.
    const { ban, source, at } = decision
    const shown = ban ? { ...decision, policies: verdicts } : join(allowed, verdicts, source, at)
    write(shown, sink, response, key)
  }
}
