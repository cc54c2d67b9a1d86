/*
 * The part of a common limit that this process uses by itself and reports later. It imports `failure` and the contract
 * of stores.
 */

export { Demand } from './demand.ts'
export { ShareStore } from './share-store.ts'
