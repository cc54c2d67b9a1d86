import type { Details } from '../../algorithms/evaluation/index.ts'
import { isListed, type Policy } from '../../algorithms/index.ts'
import { isCounter } from '../../algorithms/windows/index.ts'
import { atOnce, invalidOption, shown } from '../../common/index.ts'
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
  /** The optional parts of a decision that the store must compute, because the fields need these parts. */
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
    if (pk !== undefined && !dialects.some((dialect) => draftOf(dialect)?.withoutWindow)) {
      const which = "'draft-8', 'draft-11' or a list with one of them, because only these have pk"
      throw invalidOption('headers: dialects', which, dialects.join(), "Write dialects: 'draft-11', or leave pk out.")
    }
    const all = reportedOf(policies)
    const windows = shownByWindows(policies)
    const shownBy = (dialect: Dialect) => (dialect === 'legacy' ? chosenOf(windows, names?.policy) : windows)
    const reportedBy = (dialect: Dialect) => (draftOf(dialect)?.withoutWindow ? all : reportedOf(shownBy(dialect)))
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
      return draft?.withoutWindow ? write : showing(shownBy(dialect), policies, write)
    })
    this.details = { at: writing.includes('legacy'), nextAfter: writing.some((dialect) => draftOf(dialect)?.nextAfter) }
  }

  write<Response>(decision: Decision, sink: Sink<Response>, response: Response, key: Key): void {
    if (decision.source === 'open') return // the request was not counted, so its numbers are not known
    if (this.#near && !sink.written && !this.#isNear(decision)) return
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
    atOnce<unknown>(
      write(decision, (name, value) => sink.setHeader(response, name, value), key),
      'headers',
    )
  }
}

/** The policies that appear in fields, with their indexes in the list. */
function reportedOf(policies: readonly Policy[]): readonly ReportedPolicy[] {
  return policies.map((policy, index) => ({ policy, index })).filter(({ policy }) => isReported(policy))
}

/** False for shadow policies, which refuse no client, for penalties and counters, which have no quota, and for unlisted policies. */
function isReported(policy: Policy): boolean {
  return !policy.shadow && !policy.algorithm.punishes && !isCounter(policy) && isListed(policy)
}

/** True if the policy counts units in flight. Such units are free when their requests end, so the policy has no reset time. */
function isInFlight({ algorithm }: Policy): boolean {
  return algorithm.leases === true
}

/** The policies whose verdicts make the fields of a dialect that can only describe policies with a window. */
function shownByWindows(policies: readonly Policy[]): readonly Policy[] {
  return policies.filter((policy) => !isInFlight(policy) && isListed(policy))
}

/**
 * The policy that the option `legacy.policy` names, and the penalties, because a ban refuses calls under every policy. Returns all policies
 * if no reported policy has this name.
 */
function chosenOf(policies: readonly Policy[], name: string | undefined): readonly Policy[] {
  if (name === undefined || !policies.some((policy) => policy.name === name && isReported(policy))) return policies
  return policies.filter((policy) => policy.name === name || policy.algorithm.punishes)
}

/**
 * Checks the option `legacy.policy` for policies that are the same for every request.
 * @throws HeadgateError `HEADGATE_OPTION` if the legacy fields cannot show a policy of this name
 */
export function checkShown(option: HeadersOption | undefined, policies: readonly Policy[]): void {
  const name = typeof option === 'object' && 'legacy' in option ? option.legacy?.policy : undefined
  const names = shownByWindows(policies)
    .filter(isReported)
    .map((policy) => policy.name)
  if (name === undefined || names.includes(name)) return
  const fix =
    names.length === 0 ? 'Leave it out: no policy has such numbers.' : `Write legacy: { policy: ${shown(names[0])} }.`
  const which = 'the name of a policy that the legacy fields can show: listed, enforced, and with a window'
  throw invalidOption('headers.legacy: policy', which, name, fix)
}

/**
 * Wraps a writer of fields, so that the writer gets each decision as if the limiter had only some of its policies.
 * @param some the policies whose verdicts the writer gets
 * @param write the writer of a dialect (its set of fields)
 */
function showing(some: readonly Policy[], policies: readonly Policy[], write: Writer): Writer {
  if (some.length === policies.length) return write
  const isShown = policies.map((policy) => some.includes(policy))
  return (decision, sink, response, key) => {
    const verdicts = decision.policies.filter((_verdict, n) => isShown[n])
    const allowed = verdicts.every((verdict) => verdict.allowed || verdict.shadow)
    const { ban, source, at, policy, tried } = decision
    // No verdict shows a ban by hand, or which cost of a list was admitted, so such a decision keeps its numbers.
    const admitted = tried !== undefined && decision.allowed && verdicts.some(({ name }) => name === policy)
    const part = ban || admitted ? { ...decision, policies: verdicts } : join(allowed, verdicts, source, at)
    write(part, sink, response, key)
  }
}
