import { createHash } from 'node:crypto'
import type { Policy } from '../../algorithms/algorithm.ts'
import { HeadgateError, shown } from '../../errors.ts'
import { kinds } from './lua/script.ts'

const idBytes = 8

/** Policies as the script reads them. A question's keys are one for each scope, in the order of `scopes`. */
export interface Terms {
  readonly policies: readonly Policy[]
  readonly scopes: readonly string[]
  readonly packed: Buffer
}

/**
 * Under which a policy's state is kept in a key's value: the same as long as its name and numbers are. Whether it is a
 * shadow or counts refused calls is no part of it: that changes what is done with the state, not what it means.
 */
export function policyId({ name, algorithm }: Policy): Buffer {
  const identity = JSON.stringify([name, algorithm.kind, algorithm.span, ...algorithm.parameters])
  return createHash('sha256').update(identity).digest().subarray(0, idBytes)
}

/** @throws HeadgateError `HEADGATE_POLICY` for an algorithm that the script does not know */
export function packTerms(policies: readonly Policy[], scopes: readonly string[]): Terms {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(policies.length, 0)
  head.writeUInt16LE(scopes.length, 2)
  const packed = Buffer.concat([
    head,
    ...policies.map((policy) => packPolicy(policy, scopes.indexOf(policy.scope) + 1)),
  ])
  return { policies, scopes, packed }
}

function packPolicy(policy: Policy, scope: number): Buffer {
  const { algorithm, burst, countRefused, shadow } = policy
  const kind = kinds.indexOf(algorithm.kind) + 1
  if (kind === 0) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `redisStore does not know the algorithm ${shown(algorithm.kind)} of policy ${shown(policy.name)}. ` +
        `It knows: ${kinds.join(', ')}.`,
    )
  }
  const packed = Buffer.alloc(4 + idBytes + 17 + 8 * algorithm.parameters.length)
  packed.writeUInt16LE(scope, 0)
  packed.writeUInt8(kind, 2)
  packed.writeUInt8((countRefused ? 1 : 0) + (shadow ? 2 : 0) + (algorithm.promises ? 4 : 0), 3)
  policyId(policy).copy(packed, 4)
  packed.writeDoubleLE(burst, 12)
  packed.writeDoubleLE(algorithm.span, 20)
  packed.writeUInt8(algorithm.parameters.length, 28)
  for (const [n, parameter] of algorithm.parameters.entries()) packed.writeDoubleLE(parameter, 29 + 8 * n)
  return packed
}
