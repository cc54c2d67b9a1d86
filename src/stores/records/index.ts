/*
 * Stores with one record (text of all states) for each key: how a record is read and written, and the ledger that reads and replaces
 * records. This folder imports `failure` and the contract of stores.
 */

export type { Job, RecordCall, StateOutcome } from './job.ts'
export { KeyQueue } from './key-queue.ts'
export { emptyRecord, KeyRecord, keptRecord, recordHead, type SavedText } from './key-record.ts'
export type { Durability, ReadTexts, RecordContext, TextPage } from './record-context.ts'
export { partsOfRecordKey } from './record-key.ts'
export { RecordLedger } from './record-ledger.ts'
export { RecordStore } from './record-store.ts'
export { type ReadAndSwap, SwapRunner, type VersionedText } from './swap-runner.ts'
