import { HeadgateError } from './errors.ts'

export function needsPromise(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_ASYNC_STORE',
    'consumeSync needs a synchronous store, such as memoryStore(). Use await limiter.consume(key).',
  )
}

/** The error of a limiter that counts no keys. */
export function countsNone(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    'This limiter does not count the calls of its keys. Write new RateLimiter({ top: 1000, ... }).',
  )
}
