/*
 * The messages between a worker and the primary. The messages have only values that JSON can represent, because
 * node:cluster sends JSON.
 */
import { type Policy, revive, unshown } from '../../algorithms/index.ts'
import { type ErrorCode, HeadgateError, shown } from '../../common/index.ts'
import type { Command, Documents, LedgerTerms } from '../contract/index.ts'

/** The requests of a worker in one turn of the event loop. */
export interface RequestMessage {
  /** The name of the store. */
  readonly headgate: string
  /**
   * The terms (policies and settings) of each ledger that the requests need, as JSON. Each message has the terms, because the primary may
   * not know the terms yet.
   */
  readonly terms: readonly string[]
  readonly requests: readonly (readonly [id: number, termsIndex: number, command: Command | DocumentCommand])[]
}

/** A request for a method of `Documents` (texts with the overrides of limiters). Its `termsIndex` is `noTerms`. */
export interface DocumentCommand {
  readonly verb: keyof Documents
  readonly args: readonly unknown[]
}

/** The `termsIndex` of a request about documents, which needs no terms (policies and settings). */
export const noTerms = -1

interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

/** The primary's response to a worker's request. `outcome` is null if the command has no outcome, and if the command failed. */
export type LedgerResponse = readonly [id: number, outcome: unknown, failure?: Failure]

export interface ResponseMessage {
  readonly headgate: string
  readonly responses: readonly LedgerResponse[]
}

/** True for a worker's message to the store with this name. Other code and other versions also send messages. */
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

export function packTerms({ name, policies, scopes, onChange, override }: LedgerTerms): string {
  const packed = policies.map(unshown).map(({ algorithm: { kind, span, parameters }, ...promise }) => {
    return { ...promise, algorithm: { kind, span, parameters } }
  })
  return JSON.stringify({ name, policies: packed, scopes, onChange, override })
}

/** Reads a message's terms. @throws HeadgateError `HEADGATE_POLICY` if this version lacks an algorithm of the worker's version */
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

/**
 * Restores the values that JSON has changed to null, in the message itself. A null in a list was undefined (a missing key, or a missing
 * ticket of a reservation). Any other null was Infinity (a wait without an end).
 */
export function restore<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string, unknown>
  const missing = Array.isArray(value) ? undefined : Infinity
  for (const [name, member] of Object.entries(members)) {
    if (member === null) members[name] = missing
    else restore(member)
  }
  return value
}
