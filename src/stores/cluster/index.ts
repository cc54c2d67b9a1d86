/*
 * `headgate/cluster`: a store for the processes of node:cluster, in which the primary decides for its workers. This
 * folder imports `failure`, the memory store and the contract of stores.
 */

export { type ClusterStore, type ClusterStoreOptions, clusterStore } from './cluster-store.ts'
