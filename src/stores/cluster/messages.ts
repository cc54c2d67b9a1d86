/*
 * The messages between a worker and the primary: plain values that JSON can hold, which is the default of node:cluster.
 */
import type { Policy } from '../../algorithms/algorithm.ts'
import type { Tickets } from '../../algorithms/evaluation.ts'
import { revive } from '../../algorithms/kinds.ts'
import type { Decision, Verdict } from '../../decision.ts'
import { type ErrorCode, HeadgateError, shown } from '../../errors.ts'
import type { Command, Outcome, Verb } from '../command.ts'
import type { LedgerTerms } from '../store.ts'

/** The requests of a worker in one turn of the event loop. */
export interface RequestMessage {
  /** The name of the store. */
  readonly headgate: string
  /** The terms of each ledger that is called, as texts: the primary may not have seen them before. */
  readonly terms: readonly string[]
  readonly requests: readonly (readonly [id: number, termsIndex: number, command: Command])[]
}

interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

/** The outcome is null for a verb without one, and if the command failed. */
export type LedgerResponse = readonly [id: number, outcome: Outcome | null, failure?: Failure]

export interface ResponseMessage {
  readonly headgate: string
  readonly responses: readonly LedgerResponse[]
}

/** True for a worker's requests to the store of that name. Other code, and other versions, use the same channel. */
export function isRequestMessage(message: unknown, store: string): message is RequestMessage {
  const { headgate, terms, requests } = Object(message) as Record<keyof RequestMessage, unknown>
  return headgate === store && Array.isArray(terms) && isListOfLists(requests)
}

export function isResponseMessage(message: unknown, store: string): message is ResponseMessage {
  const { headgate, responses } = Object(message) as Record<keyof ResponseMessage, unknown>
  return headgate === store && isListOfLists(responses)
}

function isListOfLists(list: unknown): boolean {
  return Array.isArray(list) && list.every(Array.isArray)
}

export function packTerms({ name, policies, scopes, onChange }: LedgerTerms): string {
  const packed = policies.map(({ algorithm: { kind, span, parameters }, ...promise }) => {
    return { ...promise, algorithm: { kind, span, parameters } }
  })
  return JSON.stringify({ name, policies: packed, scopes, onChange })
}

/** @throws HeadgateError `HEADGATE_POLICY` for an algorithm that a worker of another build has */
export function unpackTerms(text: string): LedgerTerms {
  const terms = JSON.parse(text) as LedgerTerms
  return { ...terms, policies: terms.policies.map(unpackPolicy) }
}

function unpackPolicy(packed: Policy): Policy {
  const algorithm = revive(packed.algorithm, packed.window * 1000)
  if (algorithm !== undefined) return { ...packed, algorithm }
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `clusterStore does not know the algorithm ${shown(packed.algorithm.kind)} of policy ${shown(packed.name)}. ` +
      'Run the workers and the primary on one build.',
  )
}

/** Restores what JSON turns into null: a key and a ticket that are undefined. */
export function unpackCommand<V extends Verb>(command: Command<V>): Command<V> {
  const keys = command.keys.map((key) => key ?? undefined) as unknown as Command<V>['keys']
  return { ...command, keys, tickets: unpackTickets(command.tickets) }
}

/** Restores what JSON turns into null: Infinity, and a ticket that is undefined. */
export function unpackOutcome(outcome: Outcome): Outcome {
  if (typeof outcome !== 'object' || Array.isArray(outcome) || 'keys' in outcome) return outcome
  if (!('decision' in outcome)) return unpackDecision(outcome as Decision)
  const { decision, tickets } = outcome
  return { ...outcome, decision: unpackDecision(decision), tickets: unpackTickets(tickets) }
}

function unpackTickets(tickets: Tickets | undefined): Tickets | undefined {
  return tickets?.map((ticket) => ticket ?? undefined)
}

function unpackDecision(decision: Decision): Decision {
  const { blocked } = decision
  const retryAfter = decision.retryAfter ?? Infinity
  const policies = decision.policies.map(unpackVerdict)
  if (blocked === undefined) return { ...decision, retryAfter, policies }
  const resetAfter = decision.resetAfter ?? Infinity
  return { ...decision, retryAfter, resetAfter, policies, blocked: { ...blocked, until: blocked.until ?? Infinity } }
}

function unpackVerdict(verdict: Verdict): Verdict {
  const retryAfter = verdict.retryAfter ?? Infinity
  if (!('nextAfter' in verdict)) return { ...verdict, retryAfter }
  return { ...verdict, retryAfter, nextAfter: verdict.nextAfter ?? Infinity }
}
