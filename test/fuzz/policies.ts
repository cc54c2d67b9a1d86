import { HeadgateError, policy, RateLimiter } from '../../src/index.ts'
import { check, hostileText, pick, type Target } from './target.ts'

const kinds = [
  'sliding-window',
  'fixed-window',
  'segmented-window',
  'sliding-log',
  'token-bucket',
  'leaky-bucket',
  'gcra',
]
const pieces = [
  ...kinds,
  '/',
  ' ',
  'burst',
  ' burst 5',
  '100/15m',
  '0',
  '1',
  '9'.repeat(17),
  '.',
  '-',
  'ms',
  's',
  'm',
  'h',
  'd',
  'y',
  '\n',
]

/** `policy` throws a HeadgateError, or makes a policy that decides, and that its own numbers describe. */
export const policies: Target = {
  name: 'policy parser',
  run(random) {
    const kind = pick(random, kinds)
    const formed = `${random(10 ** (1 + random(9)))}/${1 + random(1000)}${pick(random, ['ms', 's', 'm', 'h', 'd'])} ${kind}`
    const text = random(2) === 0 ? hostileText(random, pieces, 6) : formed
    const made = read(text)
    if (made === undefined) return
    const { limit, window, burst } = made
    check(Number.isSafeInteger(limit) && limit >= 0 && window >= 1, 'whole numbers', text, limit, window)
    const { allowed, remaining, retryAfter } = new RateLimiter({ policies: made }).consumeSync('key')
    check(allowed === limit > 0, 'the first call is admitted, unless nobody is', text)
    check(remaining === Math.max(0, burst - 1) && (retryAfter === 0 || !allowed), 'the numbers', text, remaining, burst)
    if (text !== formed) return
    const again = policy(`${limit}/${window}ms ${kind}`)
    check(JSON.stringify(again.algorithm) === JSON.stringify(made.algorithm), 'the same policy again', text)
  },
}

function read(text: string): ReturnType<typeof policy> | undefined {
  try {
    return policy(text)
  } catch (error) {
    check(error instanceof HeadgateError, 'the error is a HeadgateError', text, String(error))
    return undefined
  }
}
