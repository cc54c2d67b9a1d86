import { createHash } from 'node:crypto'
import type { Policy } from '../../algorithms/algorithm.ts'
import type { StateRule } from '../../algorithms/carry.ts'
import { HeadgateError, shown } from '../../errors.ts'
import { kinds } from './lua/script.ts'

/** Each key holds it once for each policy, and two of a limiter's few names do not share one by chance. */
const idBytes = 6

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
  const numbers = [algorithm.span, ...algorithm.parameters]
  const packed = Buffer.alloc(4 + idBytes + 9 + 8 * numbers.length)
  packed.writeUInt16LE(scope, 0)
  packed.writeUInt8(kind, 2)
  packed.writeUInt8(flagsOf(policy, onChange), 3)
  policyId(policy).copy(packed, 4)
  packed.writeDoubleLE(burst, 4 + idBytes)
  packed.writeUInt8(numbers.length, 12 + idBytes)
  for (const [n, number] of numbers.entries()) packed.writeDoubleLE(number, 13 + idBytes + 8 * n)
  return packed
}

const ruleFlags: Readonly<Record<StateRule, number>> = { keep: 0, scale: 8, reset: 16, retune: 32 }

function flagsOf({ algorithm, countRefused, shadow }: Policy, onChange: StateRule): number {
  return (countRefused ? 1 : 0) + (shadow ? 2 : 0) + (algorithm.promises ? 4 : 0) + ruleFlags[onChange]
}
