/*
 * Buckets fill by calls and drain with time. GCRA, the token bucket and the leaky bucket are one arithmetic under
 * three names. It imports the contract of algorithms, `policy` and `common`.
 */

export { Bucket } from './bucket.ts'
export { gcra } from './gcra.ts'
export { IntervalBucket } from './interval-bucket.ts'
export { leakyBucket } from './leaky-bucket.ts'
export { type TokenBucketOptions, tokenBucket } from './token-bucket.ts'
