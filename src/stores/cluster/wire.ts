/*
 * What a worker and the primary tell each other: plain values that JSON, the default of node:cluster, can hold.
 */
import type { Policy } from '../../algorithms/algorithm.ts'
import type { Tickets } from '../../algorithms/evaluation.ts'
import { revive } from '../../algorithms/revive.ts'
import type { Decision, Verdict } from '../../decision.ts'
import { type ErrorCode, HeadgateError, shown } from '../../errors.ts'
import type { Booking, DecideExtras, DecideVerb, LedgerTerms } from '../store.ts'

/** One call of a ledger. */
export interface Question {
  readonly verb: DecideVerb | 'reserve' | 'reset'
  readonly keys: readonly string[]
  readonly cost: number
  /** Of a reservation, in microseconds. */
  readonly maxWait: number
  readonly extras: DecideExtras
}

/** What a worker asked in one turn of the event loop. */
export interface Questions {
  /** Which store. */
  readonly headgate: string
  /** The terms of each ledger that is asked, as texts: the primary need not have heard of them before. */
  readonly terms: readonly string[]
  readonly questions: readonly (readonly [id: number, terms: number, question: Question])[]
}

interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

/** A reset has no booking. */
export type Answer = readonly [id: number, booking: Booking | null, failure?: Failure]

export interface Answers {
  readonly headgate: string
  readonly answers: readonly Answer[]
}

/** Whether a message is a worker's to the store of that name: others, and other versions, use the same channel. */
export function areQuestions(message: unknown, store: string): message is Questions {
  const { headgate, terms, questions } = Object(message) as Record<keyof Questions, unknown>
  return headgate === store && Array.isArray(terms) && isListOfLists(questions)
}

export function areAnswers(message: unknown, store: string): message is Answers {
  const { headgate, answers } = Object(message) as Record<keyof Answers, unknown>
  return headgate === store && isListOfLists(answers)
}

function isListOfLists(list: unknown): boolean {
  return Array.isArray(list) && list.every(Array.isArray)
}

/** @throws HeadgateError `HEADGATE_POLICY` for an algorithm that is not one of this package */
export function packTerms({ name, policies, scopes, onChange }: LedgerTerms): string {
  const packed = policies.map((policy) => {
    const { algorithm, ...promise } = policy
    const { kind, span, parameters } = algorithm
    unpackPolicy({ ...promise, algorithm: { kind, span, parameters } } as Policy)
    return { ...promise, algorithm: { kind, span, parameters } }
  })
  return JSON.stringify({ name, policies: packed, scopes, onChange })
}

export function unpackTerms(text: string): LedgerTerms {
  const terms = JSON.parse(text) as LedgerTerms
  return { ...terms, policies: terms.policies.map(unpackPolicy) }
}

function unpackPolicy(packed: Policy): Policy {
  const algorithm = revive(packed.algorithm)
  if (algorithm !== undefined) return { ...packed, algorithm }
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `clusterStore does not know the algorithm ${shown(packed.algorithm.kind)} of policy ${shown(packed.name)}. ` +
      'Use one that a constructor of headgate makes.',
  )
}

/** JSON has null for Infinity, and for a ticket that is not there. */
export function unpackBooking({ decision, wait, tickets }: Booking): Booking {
  return { decision: unpackDecision(decision), wait, tickets: tickets && unpackTickets(tickets) }
}

export function unpackTickets(tickets: Tickets): Tickets {
  return tickets.map((ticket) => ticket ?? undefined)
}

function unpackDecision(decision: Decision): Decision {
  const retryAfter = decision.retryAfter ?? Infinity
  return { ...decision, retryAfter, policies: decision.policies.map(unpackVerdict) }
}

function unpackVerdict(verdict: Verdict): Verdict {
  const retryAfter = verdict.retryAfter ?? Infinity
  if (!('nextAfter' in verdict)) return { ...verdict, retryAfter }
  return { ...verdict, retryAfter, nextAfter: verdict.nextAfter ?? Infinity }
}
