import type { Details, Tickets, Verb } from '../../algorithms/evaluation.ts'
import type { Response } from './response.ts'
import type { Terms } from './terms.ts'

/** What a verb needs besides its keys and cost. */
export interface QuestionExtras {
  /** Of a reservation, in microseconds. */
  readonly maxWait?: number
  readonly tickets?: Tickets | undefined
  readonly details?: Details | undefined
  /** Whether a refusal is to tell when `remaining` grows: until then it can be repeated without asking. */
  readonly denial?: boolean
  /** How many units to take, this call's cost among them. */
  readonly lease?: number | undefined
  /** Of a refund, whether penalties count it: the call was refused elsewhere. */
  readonly punish?: boolean
}

const none: QuestionExtras = {}
const nobody = (): void => {}

/** What one call of a limiter asks of Redis, and who wants to know. */
export class Request {
  readonly terms: Terms
  readonly verb: Verb | 'reset'
  /** The keys of the states, one for each scope of the terms. */
  readonly keys: readonly string[]
  readonly cost: number
  /** Microseconds since the epoch, or -1 for the time of Redis. */
  readonly now: number
  readonly extras: QuestionExtras
  resolve: (answer: Response) => void = nobody
  reject: (error: unknown) => void = nobody

  constructor(
    terms: Terms,
    verb: Request['verb'],
    keys: readonly string[],
    cost: number,
    now: number,
    extras: QuestionExtras = none,
  ) {
    this.terms = terms
    this.verb = verb
    this.keys = keys
    this.cost = cost
    this.now = now
    this.extras = extras
  }

  answered(answer: Response): void {
    this.resolve(answer)
  }

  failed(error: unknown): void {
    this.reject(error)
  }
}

/** The numbers that stand for the verbs in the script. */
const verbs = { consume: 0, reserve: 1, charge: 2, refund: 3, peek: 4, reset: 5 } as const
const nextFlag = 8
const denialFlag = 16
const leaseFlag = 32
const ticketsFlag = 64
const punishFlag = 128

/** The bytes that a question needs at most. */
export function sizeOf({ terms }: Request): number {
  return 38 + 2 * terms.scopes.length + 25 * terms.policies.length
}

/** Its verb, and flags for what comes with it. */
export function whatOf({ verb, extras }: Request): number {
  const { tickets, details, denial, lease, punish } = extras
  let what: number = verbs[verb]
  if (details?.nextAfter === true) what += nextFlag
  if (denial === true) what += denialFlag
  if (lease !== undefined) what += leaseFlag
  if (tickets !== undefined) what += ticketsFlag
  if (punish === true) what += punishFlag
  return what
}

/** Whether its verb and its key are all there is to it. */
export function isBare({ verb, terms }: Request, what: number): boolean {
  return what < leaseFlag && verb !== 'reserve' && terms.scopes.length === 1
}

/**
 * Writes what comes before the question's first key, as lua/main.ts has it, and returns where that begins.
 * @param termsIndex which of the call's terms are its own, counted from 1
 */
export function writeHead(buffer: Buffer, at: number, question: Request, what: number, termsIndex: number): number {
  at = buffer.writeUInt16LE(termsIndex, at)
  at = buffer.writeUInt8(what, at)
  at = buffer.writeDoubleLE(question.now, at)
  return buffer.writeDoubleLE(question.cost, at)
}

/** Writes what comes after the keys, and returns where the next question begins. */
export function writeExtras(buffer: Buffer, at: number, { verb, extras }: Request): number {
  const { maxWait, tickets, lease } = extras
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
