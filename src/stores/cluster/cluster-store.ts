import cluster from 'node:cluster'
import { type Duration, milliseconds } from '../../duration.ts'
import { knownOptions, text } from '../../options.ts'
import { type MemoryStoreOptions, memoryStore } from '../memory/memory-store.ts'
import { PrimaryStore } from './primary.ts'
import { WorkerStore } from './worker.ts'

export interface ClusterStoreOptions extends MemoryStoreOptions {
  /** Which store of this cluster, where there are several. Default `'default'`. */
  name?: string
  /** How long a worker's call may take; then it rejects with `HEADGATE_STORE_TIMEOUT`. Default 100 ms. */
  timeout?: Duration
}

/** All of them, or the types complain. */
const known = { name: true, timeout: true, maxKeys: true, onFull: true, clock: true } satisfies Record<
  keyof ClusterStoreOptions,
  true
>

/** In the primary, which has the states, as synchronous as a memory store; in a worker not. */
export type ClusterStore = PrimaryStore | WorkerStore

/**
 * One memory store for all processes of a `node:cluster`: the primary has the states, the workers ask it. To be called
 * in the primary, before it forks, and in every worker. What a memory store takes counts in the primary.
 * @throws HeadgateError `HEADGATE_OPTION`, `HEADGATE_NAME` or `HEADGATE_CLOCK`
 */
export function clusterStore(options: ClusterStoreOptions = {}): ClusterStore {
  knownOptions('clusterStore', options, Object.keys(known))
  const { name = 'default', timeout = 100, ...rest } = options
  const longest = milliseconds(timeout, 'clusterStore: timeout', 'HEADGATE_OPTION')
  const valid = text(name, 'clusterStore: name', 'HEADGATE_NAME')
  return cluster.isPrimary ? new PrimaryStore(valid, memoryStore(rest)) : new WorkerStore(valid, longest)
}
