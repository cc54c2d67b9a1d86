/*
 * The memory store: synchronous, with a bounded number of keys, and without a timer for each key. This folder imports
 * the contract of stores, and what the contract imports.
 */

export { keyName, longestKey } from './key-name.ts'
export {
  keysIn,
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStats,
  memoryStore,
} from './memory-store.ts'
