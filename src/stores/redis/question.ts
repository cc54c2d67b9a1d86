import type { Tickets, Verb } from '../../algorithms/step.ts'
import type { HeadgateError } from '../../errors.ts'
import type { Answer } from './answer.ts'
import type { Terms } from './terms.ts'

/** What one call of a limiter asks of Redis, and who wants to know. */
export interface Question {
  readonly terms: Terms
  readonly verb: Verb | 'reset'
  /** The keys of the states, one for each scope of the terms. */
  readonly keys: readonly string[]
  readonly cost: number
  /** Microseconds since the epoch, or -1 for the time of Redis. */
  readonly now: number
  /** Of a reservation, in microseconds. */
  readonly maxWait?: number
  readonly tickets?: Tickets | undefined
  readonly detailed?: boolean
  /** Whether a refusal is to tell when `remaining` grows: until then it can be repeated without asking. */
  readonly denial?: boolean
  /** How many units to take, this call's cost among them. */
  readonly lease?: number
  answered(answer: Answer): void
  failed(error: HeadgateError): void
}

/** The numbers that stand for the verbs in the script. */
const verbs = { consume: 0, reserve: 1, charge: 2, refund: 3, peek: 4, reset: 5 } as const
const detailedFlag = 8
const denialFlag = 16
const leaseFlag = 32
const ticketsFlag = 64

/** The bytes that `writeQuestion` needs at most. */
export function sizeOf({ terms }: Question): number {
  return 35 + 2 * terms.scopes.length + 25 * terms.policies.length
}

/**
 * Writes the question at `at`, as lua/script.ts has it, and returns where the next begins.
 * @param termsIndex which of the call's terms are its own, counted from 1
 * @param keyIndexes which of the call's keys are its own, counted from 1
 */
export function writeQuestion(
  buffer: Buffer,
  at: number,
  question: Question,
  termsIndex: number,
  keyIndexes: readonly number[],
): number {
  const { verb, cost, now, maxWait, tickets, detailed, denial, lease } = question
  let what: number = verbs[verb]
  if (detailed === true) what += detailedFlag
  if (denial === true) what += denialFlag
  if (lease !== undefined) what += leaseFlag
  if (tickets !== undefined) what += ticketsFlag
  at = buffer.writeUInt16LE(termsIndex, at)
  at = buffer.writeUInt8(what, at)
  at = buffer.writeDoubleLE(now, at)
  at = buffer.writeDoubleLE(cost, at)
  for (const index of keyIndexes) at = buffer.writeUInt16LE(index, at)
  if (verb === 'reserve') at = buffer.writeDoubleLE(maxWait ?? 0, at)
  if (tickets !== undefined) at = writeTickets(buffer, at, tickets)
  return lease === undefined ? at : buffer.writeDoubleLE(lease, at)
}

function writeTickets(buffer: Buffer, at: number, tickets: Tickets): number {
  for (const ticket of tickets) {
    at = buffer.writeUInt8(ticket === undefined ? 0 : 1, at)
    if (ticket === undefined) continue
    for (const number of ticket) at = buffer.writeDoubleLE(number, at)
  }
  return at
}
