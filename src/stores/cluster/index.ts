export { type ClusterStore, type ClusterStoreOptions, clusterStore } from './cluster-store.ts'
