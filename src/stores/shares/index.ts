/*
 * A store in front of redisStore: this process admits its share of a limit without asking, and reports it later.
 * `headgate/shares`. It imports `failure` and the contract of stores, and no other store.
 */

export { type ShareStoreOptions, shareStore } from './share-store.ts'
