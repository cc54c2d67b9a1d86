/*
 * `headgate/shares`: a store in front of `redisStore`. Each process admits its share of a limit without asking Redis,
 * and reports the admitted units later. This folder imports `failure` and the contract of stores, and no other store.
 */

export { type ShareStoreOptions, shareStore } from './share-store.ts'
