/*
 * A store for the processes of node:cluster: the primary decides for its workers. `headgate/cluster`. It imports
 * `failure`, the memory store and the contract of stores.
 */

export { type ClusterStore, type ClusterStoreOptions, clusterStore } from './cluster-store.ts'
