/*
 * What `inspect` of a limiter returns: states of the store or, if the store fails, of this process.
 */
import { monotonicClock } from '../common/index.ts'
import type { KeptKey } from '../inspection/index.ts'
import { type Command, choiceFor } from '../stores/contract/index.ts'
import type { Fallback } from './fallback.ts'
import { isMisuse } from './store-link.ts'
import { unavailable } from './waiting-call.ts'

/** Reads the states of the keys. If the store fails, `onStoreError` chooses: the states of this process, no states, or an error. */
export async function inspectKeys(fallback: Fallback, command: Command<'inspect'>): Promise<readonly KeptKey[]> {
  const { keys } = command
  const { ledger, shared } = fallback
  try {
    const failing = shared.link.parts.of(keys).find(({ closed }) => !closed)
    if (failing !== undefined) throw failing.lastError
    const kept = await shared.link.request(ledger, command)
    return kept.map((key, n) => ({ ...key, notes: [...(key.notes ?? []), ...owedBy(fallback, n, keys)] }))
  } catch (error) {
    if (isMisuse(error)) throw error
    return failed(fallback, keys, error)
  }
}

/** A note about units that this process admitted while the store failed. The list is empty if the key owes the store no units. */
function owedBy({ terms, shared, quota }: Fallback, n: number, keys: readonly string[]): string[] {
  const [scope, key] = [terms.scopes[n] as string, keys[n] as string]
  if (!shared.reconciler.owes(scope, key)) return []
  const units = Math.max(0, ...quota.owed(scope, key))
  if (units === 0) return []
  return [
    `This process admitted ${units} ${units === 1 ? 'unit' : 'units'} while the store failed, and the store is not charged for them yet.`,
  ]
}

function failed({ terms, shared, quota }: Fallback, keys: readonly string[], error: unknown): readonly KeptKey[] {
  const choice = choiceFor(shared.onStoreError, error, keys, terms, true)
  if (choice === 'closed') throw unavailable(error, shared.link.parts.of(keys))
  if (choice === 'throw') throw error
  const reason = `The store failed: ${error instanceof Error ? error.message : String(error)}`
  if (choice === 'local') {
    const notes = [reason, 'This process decides by itself. The numbers are what it has admitted since.']
    return quota.inspect(keys).map((key) => ({ ...key, source: 'fallback', notes }))
  }
  const notes = [reason, 'Calls are let through and not counted.']
  return keys.map(() => ({ now: monotonicClock(), states: [], source: 'open', notes }))
}
