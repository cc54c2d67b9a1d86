import { createHash } from 'node:crypto'
import type { Algorithm, Policy, StateRule } from '../../../algorithms/index.ts'
import { HeadgateError, shown } from '../../../common/index.ts'
import { kinds } from './kinds.ts'
import type { Script } from './loaded-script.ts'

/** The size of a policy's id. Every key has an id for each policy, and ids of so many bytes do not collide within a limiter. */
const idBytes = 4

/** The largest state whose size the script keeps in one byte. */
const largestShortSize = 253

/** The first byte of a log with narrow entries, and of any state whose size takes four bytes. */
const narrowLog = 254

/** The policies of a ledger as the script reads them (see main.ts). A request has one key for each scope. */
export interface PackedPlan {
  /** The prefix of the limiter's keys. All plans of the limiter share its states. */
  readonly limiter: string
  readonly policies: readonly Policy[]
  readonly scopes: readonly string[]
  readonly bytes: Buffer
  /** Decides the most frequent calls of this plan. Undefined: the whole script decides every call. */
  plain?: Script | undefined
}

/** The id of a policy's state in the value of a key: it depends on the policy's name alone, not on its numbers. */
export function policyId({ name }: { readonly name: string }): Buffer {
  return createHash('sha256').update(name).digest().subarray(0, idBytes)
}

/** @throws HeadgateError `HEADGATE_POLICY` for a policy with too many numbers */
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
  return { limiter, policies, scopes, bytes }
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
  return Buffer.concat([head, ...recordFormats(policy, numbers).map(withLength), ...numbers.map(double)])
}

/** The clock tolerance, in microseconds. Algorithms without one get the window: the script derives their tolerance from it. */
function toleranceOf({ algorithm, window }: Policy): number {
  return algorithm.tolerance || window * 1000
}

/** The numbers that define an algorithm of its kind. */
function definitionOf({ kind, span, parameters }: Algorithm): readonly number[] {
  return kinds[kind].spans ? [span, ...parameters] : parameters
}

/** The head of a policy's records (see records.ts): the length of the definition, the policy's id, and the definition. */
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

/** How the records of a policy begin and how their numbers are packed (see records.ts). */
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

/** How a policy's record begins, for a plain script: as a log with narrow entries, or as a state whose last number is 0. */
export function plainHead(policy: Policy): Buffer {
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

/** A number at seven bits a byte, the lowest first. A number that is not whole, or negative: 128, 0 and its double. */
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
