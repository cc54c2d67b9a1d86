import { getOrInsert } from '../common/index.ts'
import type { Store } from '../stores/contract/index.ts'

/** What metrics show of the overrides of one limiter. */
export interface UsedOverrides {
  /** How many overrides have not ended. */
  readonly count: number
  /** When reads of the overrides began to fail, in milliseconds since the epoch. Undefined if the last read succeeded. */
  readonly unreadSince: number | undefined
}

const used = new WeakMap<Store, Map<string, UsedOverrides>>()

/** The overrides that the limiters of a store use in this process, by the names of the limiters. */
export function overridesOn(store: Store): Map<string, UsedOverrides> {
  return getOrInsert(used, store, () => new Map<string, UsedOverrides>())
}
