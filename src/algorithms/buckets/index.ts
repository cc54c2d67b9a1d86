/*
 * Buckets: calls raise the level of a bucket, and time lowers the level. GCRA, the token bucket and the leaky bucket are three
 * names for the same calculation. This folder imports the base class of algorithms (algorithm.ts), `policy` and `common`.
 */

export { Bucket } from './bucket.ts'
export { gcra } from './gcra.ts'
export { IntervalBucket } from './interval-bucket.ts'
export { leakyBucket } from './leaky-bucket.ts'
export { type TokenBucketOptions, tokenBucket } from './token-bucket.ts'
