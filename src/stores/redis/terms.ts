import { createHash } from 'node:crypto'
import type { Algorithm, Policy } from '../../algorithms/algorithm.ts'
import type { StateRule } from '../../algorithms/carry.ts'
import { HeadgateError, shown } from '../../errors.ts'
import { kinds } from './lua/script.ts'

/** Each key holds it once for each policy, and two of a limiter's few names do not share one by chance. */
const idBytes = 4

/** The script tells the size of a larger state otherwise than by one byte. */
const mostSize = 253

/** Policies as the script reads them. A question's keys are one for each scope, in the order of `scopes`. */
export interface Terms {
  readonly policies: readonly Policy[]
  readonly scopes: readonly string[]
  readonly packed: Buffer
}

/** Under which a policy's state is kept in a key's value: by its name, so that other numbers find it. */
export function policyId({ name }: Policy): Buffer {
  return createHash('sha256').update(name).digest().subarray(0, idBytes)
}

/** @throws HeadgateError `HEADGATE_POLICY` for an algorithm that the script does not know */
export function packTerms(policies: readonly Policy[], scopes: readonly string[], onChange: StateRule): Terms {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(policies.length, 0)
  head.writeUInt16LE(scopes.length, 2)
  const packed = Buffer.concat([
    head,
    ...policies.map((policy) => packPolicy(policy, scopes.indexOf(policy.scope) + 1, onChange)),
  ])
  return { policies, scopes, packed }
}

function packPolicy(policy: Policy, scope: number, onChange: StateRule): Buffer {
  const { algorithm, burst } = policy
  const kind = kinds.indexOf(algorithm.kind) + 1
  if (kind === 0) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `redisStore does not know the algorithm ${shown(algorithm.kind)} of policy ${shown(policy.name)}. ` +
        `It knows: ${kinds.join(', ')}.`,
    )
  }
  const numbers = numbersOf(algorithm)
  const packed = Buffer.alloc(13)
  packed.writeUInt16LE(scope, 0)
  packed.writeUInt8(kind, 2)
  packed.writeUInt8(flagsOf(policy, onChange), 3)
  packed.writeDoubleLE(burst, 4)
  packed.writeUInt8(numbers.length, 12)
  return Buffer.concat([packed, ...recordTexts(policy, kind, numbers).map(counted), ...numbers.map(double)])
}

/** What defines an algorithm of that kind: the span too, where it does not follow from the rest. */
function numbersOf({ kind, span, parameters }: Algorithm): readonly number[] {
  return ['slidingWindow', 'segmentedWindow', 'slidingLog'].includes(kind) ? [span, ...parameters] : parameters
}

/** How the records of a policy begin, and how they are packed: see lua/records.ts. */
function recordTexts(policy: Policy, kind: number, numbers: readonly number[]): Buffer[] {
  const { slots, grows } = policy.algorithm
  const definition = Buffer.concat([Buffer.from([kind]), ...numbers.map(compact)])
  if (definition.length > 255) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `redisStore: policy ${shown(policy.name)} has more numbers than a key can tell. Give it fewer of them.`,
    )
  }
  const head = Buffer.concat([Buffer.from([definition.length]), policyId(policy), definition])
  if (grows) return [head, ...Array.from({ length: 4 }, () => Buffer.alloc(0))]
  const fractions = policy.algorithm.kind.startsWith('smooth')
  const record = (count: number): Buffer[] => {
    const begin = beginning(head, count * (fractions ? 8 : 7))
    const format = (fractions ? 'd' : 'i7').repeat(count)
    return [begin, Buffer.from(`<c${begin.length}${format}`)]
  }
  return [head, ...record(slots), ...record(slots - 1)]
}

function beginning(head: Buffer, size: number): Buffer {
  if (size <= mostSize) return Buffer.concat([Buffer.from([size]), head])
  const told = Buffer.alloc(4)
  told.writeUInt32LE(size)
  return Buffer.concat([Buffer.from([mostSize + 1]), head, told])
}

function counted(text: Buffer): Buffer {
  const count = Buffer.alloc(2)
  count.writeUInt16LE(text.length)
  return Buffer.concat([count, text])
}

function double(number: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(number)
  return bytes
}

/** 7 bits a byte, the lowest first; a number that is not whole as 128, 0 and its double. */
function compact(number: number): Buffer {
  if (!Number.isSafeInteger(number) || number < 0) return Buffer.concat([Buffer.from([128, 0]), double(number)])
  const bytes: number[] = []
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128)
  return Buffer.from([...bytes, number])
}

const ruleFlags: Readonly<Record<StateRule, number>> = { keep: 0, scale: 8, reset: 16, retune: 32 }

function flagsOf({ algorithm, countRefused, shadow }: Policy, onChange: StateRule): number {
  return (countRefused ? 1 : 0) + (shadow ? 2 : 0) + (algorithm.promises ? 4 : 0) + ruleFlags[onChange]
}
