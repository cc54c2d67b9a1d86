import cluster from 'node:cluster'
import { type Duration, milliseconds } from '../../duration.ts'
import { knownOptions, type Names, text } from '../../options.ts'
import { type MemoryStoreOptions, memoryOptions, memoryStore } from '../memory/memory-store.ts'
import { type BreakerOptions, breakerTerms } from '../shared-options.ts'
import { PrimaryStore } from './primary.ts'
import { WorkerStore } from './worker.ts'

export interface ClusterStoreOptions extends MemoryStoreOptions {
  /** The name of the store, if this cluster has several. Default `'default'`. */
  name?: string
  /** How long a worker's call may take. Then it rejects with HeadgateError `HEADGATE_STORE_TIMEOUT`. Default 100 ms. */
  timeout?: Duration
  /** When a worker's circuit breaker opens, and how often it probes the primary then. */
  breaker?: BreakerOptions
}

/** A record, so that the type check fails if an option is missing. */
const known: Names<ClusterStoreOptions> = ['name', 'timeout', 'breaker', ...memoryOptions]

/** The primary's store has the states, and is synchronous as a memory store is. A worker's store is not. */
export type ClusterStore = PrimaryStore | WorkerStore

/**
 * One memory store for all processes of a `node:cluster`: the primary has the states, and the workers send it their
 * calls. Call it in the primary, before it forks, and in every worker. The options of the memory store count in the
 * primary.
 *
 * A worker's call rejects with HeadgateError `HEADGATE_STORE` if the connection to the primary is lost, and with
 * `HEADGATE_STORE_TIMEOUT` after the timeout.
 * @throws HeadgateError `HEADGATE_OPTION`, `HEADGATE_NAME` or `HEADGATE_CLOCK` if an option is invalid
 */
export function clusterStore(options: ClusterStoreOptions = {}): ClusterStore {
  knownOptions('clusterStore', options, known)
  const { name = 'default', timeout = 100, breaker, ...rest } = options
  const longest = milliseconds(timeout, 'clusterStore: timeout', 'HEADGATE_OPTION')
  const valid = text(name, 'clusterStore: name', 'HEADGATE_NAME')
  const terms = breakerTerms('clusterStore', breaker)
  return cluster.isPrimary ? new PrimaryStore(valid, memoryStore(rest)) : new WorkerStore(valid, longest, terms)
}
