/*
 * Buckets: calls raise the level of a bucket, and time lowers the level. GCRA, the token bucket and the leaky bucket are one
 * arithmetic under three names. This folder imports the contract of algorithms, `policy` and `common`.
 */

export { Bucket } from './bucket.ts'
export { gcra } from './gcra.ts'
export { IntervalBucket } from './interval-bucket.ts'
export { leakyBucket } from './leaky-bucket.ts'
export { type TokenBucketOptions, tokenBucket } from './token-bucket.ts'
