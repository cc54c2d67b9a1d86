import { forever } from '../../../algorithms/bans/index.ts'
import { newReservationId, type Tickets } from '../../../algorithms/evaluation/index.ts'
import type { BanTerms } from '../../contract/index.ts'
import { cacheableFlag, nextFlag, type PackedPlan } from '../script/index.ts'
import type { ScriptRequest } from './script-request.ts'

const wanted = 0x31 // '1'

/** The number of each verb in a request. The script has the same numbers. */
const verbs = {
  ...{ consume: 0, reserve: 1, charge: 2, refund: 3, peek: 4, reset: 5, settle: 6, renew: 7 },
  // `ban` and `unban` are the number of `reset` (5) plus a flag. A verb has three bits, and all eight numbers of three bits are used.
  ...{ ban: 5 + 8, unban: 5 + 16 },
} as const
const noWindows = [0, 0, 0, 0]
const leaseFlag = 32
/** The flag of a reservation and of a charge whose field `tellsLater` is true. */
const tellsLaterFlag = 32
const costsFlag = 64
/** The flag of a ban that may extend an earlier ban, but not shorten it: see `BanTerms.extends`. */
const extendsFlag = 64
/** The flag of a settlement (correction) that has the field `punish`, and of a reservation whose field `countsLater` is true. */
const punishFlag = 128
/** The flag of a charge that has the field `report`. */
const reportFlag = 128
/** The flag of a refund whose field `unreserved` is true. */
const unreservedFlag = 128

/**
 * A list that contains each value once. `of` adds a value that the list does not contain yet, and returns the value's index,
 * counted from 1.
 */
class Places<T> {
  readonly values: T[] = []
  readonly #places = new Map<T, number>()

  of(value: T): number {
    let place = this.#places.get(value)
    if (place === undefined) {
      place = this.values.push(value)
      this.#places.set(value, place)
    }
    return place
  }
}

/**
 * The keys and arguments for the whole script (script/main.ts), which decides every kind of request, unlike the short
 * scripts (script/short). Each key and plan is sent once.
 * @param ttlMargin for how many milliseconds Redis stores a key after the key has its full quota again
 */
export function wholeArgs(
  calls: readonly { readonly request: ScriptRequest }[],
  ttlMargin: number,
): { keys: string[]; args: Buffer[] } {
  const keys = new Places<string>()
  const plans = new Places<PackedPlan>()
  const size = calls.reduce((sum, { request }) => sum + largestSizeOf(request), 9)
  const bytes = Buffer.allocUnsafe(size)
  let at = bytes.writeDoubleLE(ttlMargin, bytes.writeUInt8(wanted))
  for (const { request } of calls) at = writeRequest(bytes, at, request, keys, plans.of(request.plan))
  const [only, ...more] = plans.values.map((plan) => plan.bytes) as [Buffer, ...Buffer[]]
  return { keys: keys.values, args: [bytes.subarray(0, at), more.length === 0 ? only : Buffer.concat([only, ...more])] }
}

/** How many bytes a packed request has at most. */
function largestSizeOf({ plan, alternatives = [], ban }: ScriptRequest): number {
  const banBytes = ban === undefined ? 0 : 10 + Buffer.byteLength(ban.reason ?? '')
  return 64 + 2 * plan.scopes.length + (73 + 8 * alternatives.length) * plan.policies.length + banBytes
}

/** The number of the verb plus the flags of the request. */
function verbAndFlags(request: ScriptRequest): number {
  const { verb, costs, details, cacheable, lease, punish, countsLater, tellsLater, report, unreserved, ban } = request
  let number: number = verbs[verb]
  if (details?.nextAfter === true) number += nextFlag
  if (cacheable === true) number += cacheableFlag
  if (lease !== undefined) number += leaseFlag
  if (tellsLater === true) number += tellsLaterFlag
  if (typeof costs !== 'number') number += costsFlag
  if (punish !== undefined || countsLater === true) number += punishFlag
  if (report !== undefined) number += reportFlag
  if (verb === 'refund' && unreserved === true) number += unreservedFlag
  if (ban?.extends === true) number += extendsFlag
  return number
}

/** Writes a request into the buffer. Returns the position after the request. */
function writeRequest(
  buffer: Buffer,
  at: number,
  request: ScriptRequest,
  keyPlaces: Places<string>,
  planPlace: number,
): number {
  const {
    plan,
    verb,
    keys,
    costs,
    alternatives,
    now,
    windows,
    maxWait = 0,
    expires = 0,
    tickets,
    punish,
    report,
    lease,
    ban,
  } = request
  at = buffer.writeUInt16LE(planPlace, at)
  at = buffer.writeUInt8(verbAndFlags(request), at)
  at = buffer.writeDoubleLE(now, at)
  at = buffer.writeDoubleLE(typeof costs === 'number' ? costs : (alternatives?.length ?? 0), at)
  const [first, ...others] = keys
  at = buffer.writeUInt16LE(keyPlaces.of(first as string), at)
  if (verb !== 'reset' && verb !== 'ban' && verb !== 'unban') {
    for (const [n, { algorithm }] of plan.policies.entries()) {
      if (algorithm.place === undefined) continue
      for (const start of windows?.[n] ?? noWindows) at = buffer.writeDoubleLE(start, at)
    }
  }
  for (const key of others) at = buffer.writeUInt16LE(keyPlaces.of(key), at)
  if (typeof costs !== 'number') for (const cost of alternatives?.flat() ?? costs) at = buffer.writeDoubleLE(cost, at)
  if (verb === 'settle' || verb === 'renew') {
    for (const n of plan.policies.keys()) at = writeTicket(buffer, at, tickets?.[n])
  }
  if (punish !== undefined) at = buffer.writeDoubleLE(punish, at)
  if (report !== undefined) {
    at = buffer.writeUInt16LE(keyPlaces.of(report.key), at)
    at = buffer.writeDoubleLE(report.number, at)
    at = buffer.writeDoubleLE(report.life, at)
  }
  if (verb === 'reserve' || verb === 'renew') {
    at = buffer.writeDoubleLE(maxWait, at)
    at = buffer.writeDoubleLE(newReservationId(), at)
    at = buffer.writeDoubleLE(expires, at)
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
  const numbers = ticket?.filter((number) => number !== undefined) ?? []
  at = buffer.writeUInt8(Math.max(0, numbers.length - 2), at)
  for (const number of numbers) at = buffer.writeDoubleLE(number, at)
  return at
}
