import cluster from 'node:cluster'
import { anything, type Duration, readOptions, text } from '../../common/index.ts'
import { type BreakerOptions, sharedOptions } from '../contract/index.ts'
import { type MemoryStoreOptions, memoryStore } from '../memory/index.ts'
import { PrimaryStore } from './primary.ts'
import { WorkerStore } from './worker.ts'

/** The options of `clusterStore`. */
export interface ClusterStoreOptions extends MemoryStoreOptions {
  /** The name of the store. Needed only if the cluster has several stores. Default `'default'`. */
  name?: string | undefined
  /** How long a worker's call may take before it rejects with HeadgateError `HEADGATE_STORE_TIMEOUT`. Default 100 ms. Example: `'1s'`. */
  timeout?: Duration | undefined
  /** When the circuit breaker of a worker opens, and how often the worker then sends a probe to the primary. */
  breaker?: BreakerOptions | undefined
}

const readers = {
  name: text('default', 'HEADGATE_NAME'),
  timeout: sharedOptions.timeout,
  breaker: sharedOptions.breaker,
  // Accepts any value: the memory store that the primary makes checks these options.
  ...{ maxKeys: anything, onFull: anything, clock: anything },
}

/** The primary's store has the states and is synchronous, like a memory store. A worker's store is asynchronous. */
export type ClusterStore = PrimaryStore | WorkerStore

/**
 * Makes one memory store for all processes of a `node:cluster`: the primary has the states, and the workers send their
 * calls to the primary. Call `clusterStore` in the primary, before it forks, and in every worker. The options of the
 * memory store are used in the primary only.
 *
 * A worker's call rejects with HeadgateError `HEADGATE_STORE` if the connection to the primary is lost, and with
 * `HEADGATE_STORE_TIMEOUT` after the timeout.
 * @throws HeadgateError `HEADGATE_OPTION`, `HEADGATE_NAME` or `HEADGATE_CLOCK` if an option is invalid
 */
export function clusterStore(options: ClusterStoreOptions = {}): ClusterStore {
  const { name, timeout, breaker, ...ofMemory } = readOptions('clusterStore', options, readers)
  if (!cluster.isPrimary) return new WorkerStore(name, timeout, breaker)
  return new PrimaryStore(name, memoryStore(ofMemory as MemoryStoreOptions))
}
