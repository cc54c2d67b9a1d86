import { forever } from '../../algorithms/block.ts'
import type { Costs, Details, Tickets, Verb } from '../../algorithms/evaluation.ts'
import { newReservationId } from '../../algorithms/reservation-id.ts'
import type { BanTerms } from '../command.ts'
import type { PackedPlan } from './packed-plan.ts'
import { cacheableFlag, nextFlag } from './request-flags.ts'
import type { ScriptResponse } from './script-response.ts'

/** The parameters of a request besides its keys and its costs. */
export interface RequestExtras {
  /** How long a reservation may wait, in microseconds. */
  readonly maxWait?: number | undefined
  /** For a settlement or a renewal: those of the reservation. */
  readonly tickets?: Tickets | undefined
  readonly details?: Details | undefined
  /** True if a refusal has to report when `remaining` grows, so that the deny cache can repeat it until then. */
  readonly cacheable?: boolean
  /** How many units to take, including the cost of this request, if all of them stay taken for so many microseconds. */
  readonly lease?: { readonly units: number; readonly shortestLife: number } | undefined
  /** For `ban`. */
  readonly ban?: BanTerms | undefined
  /** For a settlement: penalties count it, because a slot refused the same call, which has to wait so many microseconds. */
  readonly punish?: number | undefined
  /** For a charge: the key that has the last number of the reports of this sender. */
  readonly report?: { readonly key: string; readonly number: number; readonly life: number } | undefined
  /** For a reservation: penalties do not count its refusal yet. A settlement with `punish` follows. */
  readonly countsLater?: boolean
}

type RequestVerb = Verb | 'reset' | 'ban' | 'unban'

const none: RequestExtras = {}
const ignore = (): void => {}

/** One request of a ledger to the script. */
export class ScriptRequest {
  readonly plan: PackedPlan
  readonly verb: RequestVerb
  /** The keys of the states, one for each scope of the plan. */
  readonly keys: readonly string[]
  readonly costs: Costs
  /** Microseconds since the epoch, or -1 for the time of Redis. */
  readonly now: number
  readonly extras: RequestExtras
  resolve: (response: ScriptResponse) => void = ignore
  reject: (error: unknown) => void = ignore

  constructor(
    plan: PackedPlan,
    verb: ScriptRequest['verb'],
    keys: readonly string[],
    costs: Costs,
    now: number,
    extras: RequestExtras = none,
  ) {
    this.plan = plan
    this.verb = verb
    this.keys = keys
    this.costs = costs
    this.now = now
    this.extras = extras
  }

  /** Sends the request, and resolves to the response. */
  sendBy(batcher: { send(request: ScriptRequest): void }): Promise<ScriptResponse> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      batcher.send(this)
    })
  }

  receive(response: ScriptResponse): void {
    this.resolve(response)
  }
}

/** The numbers that stand for the verbs in the script. */
const verbs = {
  ...{ consume: 0, reserve: 1, charge: 2, refund: 3, peek: 4, reset: 5, settle: 6, renew: 7 },
  // A reset with a flag, because three bits have no more verbs.
  ...{ ban: 5 + 8, unban: 5 + 16 },
} as const
const leaseFlag = 32
const costsFlag = 64
/** Of a settlement or a reservation. */
const punishFlag = 128
/** Of a charge. */
const reportFlag = 128

/** The most bytes that a request takes on the wire. */
export function largestSizeOf({ plan, extras: { ban } }: ScriptRequest): number {
  const banBytes = ban === undefined ? 0 : 10 + Buffer.byteLength(ban.reason ?? '')
  return 64 + 2 * plan.scopes.length + 33 * plan.policies.length + banBytes
}

/** The verb, and a flag for each extra. */
export function verbAndFlags({ verb, costs, extras }: ScriptRequest): number {
  const { details, cacheable, lease, punish, countsLater, report } = extras
  let number: number = verbs[verb]
  if (details?.nextAfter === true) number += nextFlag
  if (cacheable === true) number += cacheableFlag
  if (lease !== undefined) number += leaseFlag
  if (typeof costs !== 'number') number += costsFlag
  if (punish !== undefined || countsLater === true) number += punishFlag
  if (report !== undefined) number += reportFlag
  return number
}

/** Requests that nothing follows on the wire. */
const bare: readonly ScriptRequest['verb'][] = ['consume', 'charge', 'refund', 'peek', 'reset', 'unban']

/** True if the request has one key and nothing follows it on the wire: then a repetition of it is only counted. */
export function isRepeatable({ verb, plan }: ScriptRequest, verbAndFlags: number): boolean {
  return verbAndFlags < leaseFlag && bare.includes(verb) && plan.scopes.length === 1
}

/** True if a plain script can decide it. */
export function isPlainRequest({ plan, verb, costs, extras }: ScriptRequest): boolean {
  const { lease, cacheable = false } = extras
  return verb === 'consume' && typeof costs === 'number' && lease === undefined && cacheable === plan.plain?.cacheable
}

/**
 * Writes what stands before the request's first key (see lua/script.ts) and returns where that key begins.
 * @param planIndex the request's plan among those of the batch, counted from 1
 */
export function writeHead(
  buffer: Buffer,
  at: number,
  request: ScriptRequest,
  verbAndFlags: number,
  planIndex: number,
): number {
  at = buffer.writeUInt16LE(planIndex, at)
  at = buffer.writeUInt8(verbAndFlags, at)
  at = buffer.writeDoubleLE(request.now, at)
  const { costs } = request
  return buffer.writeDoubleLE(typeof costs === 'number' ? costs : 0, at)
}

/**
 * Writes what follows the keys, and returns where the next request begins.
 * @param indexOf the number of a key in the message
 */
export function writeExtras(
  buffer: Buffer,
  at: number,
  { plan, verb, costs, extras }: ScriptRequest,
  indexOf: (key: string) => number,
): number {
  const { maxWait = 0, tickets, punish, report, lease, ban } = extras
  if (typeof costs !== 'number') for (const cost of costs) at = buffer.writeDoubleLE(cost, at)
  if (verb === 'settle' || verb === 'renew') {
    for (const n of plan.policies.keys()) at = writeTicket(buffer, at, tickets?.[n])
  }
  if (punish !== undefined) at = buffer.writeDoubleLE(punish, at)
  if (report !== undefined) {
    at = buffer.writeUInt16LE(indexOf(report.key), at)
    at = buffer.writeDoubleLE(report.number, at)
    at = buffer.writeDoubleLE(report.life, at)
  }
  if (verb === 'reserve' || verb === 'renew') {
    at = buffer.writeDoubleLE(maxWait, at)
    at = buffer.writeDoubleLE(newReservationId(), at)
  }
  if (ban !== undefined) at = writeBan(buffer, at, ban)
  if (lease === undefined) return at
  at = buffer.writeDoubleLE(lease.units, at)
  return buffer.writeDoubleLE(lease.shortestLife, at)
}

function writeBan(buffer: Buffer, at: number, { duration, reason = '' }: BanTerms): number {
  at = buffer.writeDoubleLE(duration >= forever ? Infinity : duration, at)
  const bytes = buffer.write(reason, at + 2)
  return buffer.writeUInt16LE(bytes, at) + bytes
}

function writeTicket(buffer: Buffer, at: number, ticket: Tickets[number]): number {
  at = buffer.writeUInt8(ticket === undefined ? 0 : 1, at)
  for (const number of ticket ?? []) at = buffer.writeDoubleLE(number, at)
  return at
}
