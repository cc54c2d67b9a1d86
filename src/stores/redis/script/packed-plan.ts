import { createHash } from 'node:crypto'
import { type Algorithm, type Policy, type StateRule, type Threshold, thresholdsOf } from '../../../algorithms/index.ts'
import { HeadgateError, shown } from '../../../common/index.ts'
import { kinds } from './kinds.ts'
import type { Script } from './loaded-script.ts'

/** How many bytes of a name's hash identify a policy. The number is small, because the value of every key contains these bytes. */
const idBytes = 4

/**
 * The largest size of a state, in bytes, that is stored in one byte. The values 254 and 255 of this byte mean other forms of a stored
 * state.
 */
const largestShortSize = 253

/**
 * The first byte of a stored state whose size is stored in four bytes. Such a state is a sliding log with narrow entries (see records.ts),
 * or another state with more than `largestShortSize` bytes.
 */
const narrowLog = 254

/** The policies of a limiter, packed for the script (see main.ts). A request has one key for each scope (kind of key, such as user). */
export interface PackedPlan {
  /** The prefix of the limiter's keys. All plans (sets of policies) of the limiter use the same keys. */
  readonly limiter: string
  readonly policies: readonly Policy[]
  readonly scopes: readonly string[]
  readonly bytes: Buffer
  /** The thresholds of each policy. For each policy with thresholds, the script reports how many of these a request has reached. */
  readonly thresholds: readonly (readonly Threshold[])[]
  /**
   * The short script that decides the frequent calls under these policies (see short/short-script.ts). Undefined if the whole script (see
   * main.ts) has to decide every call.
   */
  short?: Script | undefined
}

/**
 * The id of a policy's state in the value of a key. The id depends only on the policy's name, so the id stays the same if the limit
 * changes.
 */
export function policyId({ name }: { readonly name: string }): Buffer {
  return createHash('sha256').update(name).digest().subarray(0, idBytes)
}

/**
 * Packs the policies of a limiter into the bytes that each request passes to the script.
 * @throws HeadgateError `HEADGATE_POLICY` if the definition of a policy is too long
 */
export function packPlan(
  limiter: string,
  policies: readonly Policy[],
  scopes: readonly string[],
  onChange: StateRule,
): PackedPlan {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(policies.length, 0)
  head.writeUInt16LE(scopes.length, 2)
  const bytes = Buffer.concat([
    head,
    ...policies.map((policy) => packPolicy(policy, scopes.indexOf(policy.scope) + 1, onChange)),
  ])
  return { limiter, policies, scopes, bytes, thresholds: policies.map(thresholdsOf) }
}

function packPolicy(policy: Policy, scope: number, onChange: StateRule): Buffer {
  const { algorithm, burst } = policy
  const numbers = definitionOf(algorithm)
  const head = Buffer.alloc(21)
  head.writeUInt16LE(scope, 0)
  head.writeUInt8(kinds[algorithm.kind].number, 2)
  head.writeUInt8(flagsOf(policy, onChange), 3)
  head.writeDoubleLE(burst, 4)
  head.writeDoubleLE(toleranceOf(policy), 12)
  head.writeUInt8(numbers.length, 20)
  const formats = recordFormats(policy, numbers).map(withLength)
  return Buffer.concat([head, ...formats, ...numbers.map(double), ...packThresholds(policy)])
}

/** Packs the thresholds of a policy with a calendar: how many numbers follow, then the part and the units of each threshold. */
function packThresholds(policy: Policy): readonly Buffer[] {
  if (policy.algorithm.place === undefined) return []
  const numbers = thresholdsOf(policy).flatMap(({ part, units }) => [part, units])
  return [Buffer.from([numbers.length]), ...numbers.map(double)]
}

/**
 * If the clock goes back by less than this many microseconds, decisions do not change. For an algorithm whose tolerance is 0, the
 * result is the window of the policy.
 */
function toleranceOf({ algorithm, window }: Policy): number {
  return algorithm.tolerance || window * 1000
}

/** The numbers that, together with the kind, define an algorithm. */
function definitionOf({ kind, span, parameters }: Algorithm): readonly number[] {
  return kinds[kind].spans ? [span, ...parameters] : parameters
}

/**
 * The head (first bytes) of a policy's stored states (see records.ts): the length of the definition, the id of the policy, and the
 * definition. The definition is the kind and the numbers of the policy.
 */
function headOf(policy: Policy, numbers: readonly number[]): Buffer {
  const definition = Buffer.concat([Buffer.from([kinds[policy.algorithm.kind].number]), ...numbers.map(compact)])
  if (definition.length > 255) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `redisStore: the numbers of policy ${shown(policy.name)} take more than 255 bytes in a key. Give it fewer of them.`,
    )
  }
  return Buffer.concat([Buffer.from([definition.length]), policyId(policy), definition])
}

/** The first bytes of a policy's stored states, and the formats with which Lua packs the numbers (see records.ts). */
function recordFormats(policy: Policy, numbers: readonly number[]): Buffer[] {
  const { kind, slots, grows } = policy.algorithm
  const head = headOf(policy, numbers)
  if (grows) return [head, ...Array.from({ length: 4 }, () => Buffer.alloc(0))]
  const { fractions } = kinds[kind]
  const formats = (count: number): Buffer[] => {
    const begin = recordHead(head, count * (fractions ? 8 : 7))
    const format = (fractions ? 'd' : 'i7').repeat(count)
    return [begin, Buffer.from(`<c${begin.length}${format}`)]
  }
  return [head, ...formats(slots), ...formats(slots - 1)]
}

/**
 * A short script (for the frequent calls) reads only one form of this policy's stored states. Returns the first bytes of that form: of a
 * sliding log with narrow entries, or of a state whose last number is 0 and not stored.
 */
export function shortHead(policy: Policy): Buffer {
  const { algorithm } = policy
  const head = headOf(policy, definitionOf(algorithm))
  if (algorithm.grows) return Buffer.concat([Buffer.from([narrowLog]), head])
  return recordHead(head, 7 * (algorithm.slots - 1))
}

function recordHead(head: Buffer, size: number): Buffer {
  if (size <= largestShortSize) return Buffer.concat([Buffer.from([size]), head])
  const longSize = Buffer.alloc(4)
  longSize.writeUInt32LE(size)
  return Buffer.concat([Buffer.from([narrowLog]), head, longSize])
}

function withLength(text: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16LE(text.length)
  return Buffer.concat([length, text])
}

function double(number: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(number)
  return bytes
}

/**
 * Packs a whole number with seven bits per byte, the lowest bits first. A fraction or a negative number becomes the bytes 128
 * and 0, which no whole number begins with, and a double of 8 bytes.
 */
function compact(number: number): Buffer {
  if (!Number.isSafeInteger(number) || number < 0) return Buffer.concat([Buffer.from([128, 0]), double(number)])
  const bytes: number[] = []
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128)
  return Buffer.from([...bytes, number])
}

const ruleFlags: Readonly<Record<StateRule, number>> = { keep: 0, scale: 8, retune: 16 }

function flagsOf({ algorithm, countRefused, shadow }: Policy, onChange: StateRule): number {
  return (countRefused ? 1 : 0) + (shadow ? 2 : 0) + (algorithm.promises ? 4 : 0) + ruleFlags[onChange]
}
