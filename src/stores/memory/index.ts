/*
 * The memory store: bounded, synchronous, without a timer for each key. It imports the contract of stores and what
 * that imports.
 */

export { keyName, longestKey } from './key-name.ts'
export {
  keysIn,
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStats,
  memoryStore,
} from './memory-store.ts'
