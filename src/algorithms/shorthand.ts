import { type Duration, HeadgateError, monthFix, shown } from '../common/index.ts'
import { type BurstOptions, checkTextOptions, type PolicyOptions } from '../policy/index.ts'
import { Algorithm, type Policy } from './algorithm.ts'
import { gcra, leakyBucket, tokenBucket } from './buckets/index.ts'
import { isKind } from './kinds.ts'
import { concurrency, slidingLog } from './logs/index.ts'
import { fixedWindow, segmentedWindow, slidingWindow } from './windows/index.ts'

const algorithms: ReadonlyMap<string, (options: BurstOptions) => Policy> = new Map([
  ['sliding-window', slidingWindow],
  ['fixed-window', fixedWindow],
  ['segmented-window', segmentedWindow],
  ['sliding-log', slidingLog],
  ['token-bucket', tokenBucket],
  ['leaky-bucket', leakyBucket],
  ['gcra', gcra],
])

const form = /^\s*(\d+)\s*\/\s*(\d*\.?\d+\s*[a-z]+)((?:\s+(?:burst\s+\d+|[a-z]+(?:-[a-z]+)*))*)\s*$/i

const atOnce = /^\s*(\d+)\s+at\s+once(?:\s+lease\s+(\d*\.?\d+\s*[a-z]+))?\s*$/i

/** A policy, its shorthand such as `'100/15m'`, or the options of a sliding window. */
export type PolicyLike = Policy | string | PolicyOptions

/**
 * A policy from a short text: limit/window, then optionally the algorithm and the burst.
 *
 *     policy('100/15m')               a sliding window
 *     policy('10/1s burst 20')        a token bucket with at most 20 tokens
 *     policy('5/10s sliding-log')     also fixed-window, segmented-window, token-bucket, leaky-bucket, gcra
 *     policy('4 at once')             4 unfinished calls, each for 1m at most; also '4 at once lease 30s'
 *
 * @param options the options that the text cannot express: `name`, `label`, `scope`, `countRefused`, `shadow`
 * @throws HeadgateError `HEADGATE_POLICY` if the text has another form, or if an option is in the text and in `options`; another code
 *   if a number or an option is invalid
 */
export function policy(text: string, options: Omit<PolicyOptions, 'limit' | 'window'> = {}): Policy {
  const [, units, lease] = (typeof text === 'string' && atOnce.exec(text)) || []
  if (units !== undefined) return inFlight(text, Number(units), lease, options)
  const [, limit, window, words] = (typeof text === 'string' && form.exec(text)) || []
  if (limit === undefined || window === undefined || words === undefined) throw notUnderstood(text)
  checkOptions(text, options, words)
  const burst = /\bburst\s+(\d+)/i.exec(words)?.[1]
  const names = words
    .replace(/\bburst\s+\d+/i, ' ')
    .trim()
    .toLowerCase()
  const algorithm = algorithms.get(names || (burst === undefined ? 'sliding-window' : 'token-bucket'))
  if (algorithm === undefined) throw notUnderstood(text)
  return algorithm({
    limit: Number(limit),
    window: window as Duration,
    ...(burst === undefined ? {} : { burst: Number(burst) }),
    ...options,
  })
}

/** Makes the policy that counts units in flight (of unfinished calls) from a text such as '4 at once lease 30s'. */
function inFlight(text: string, limit: number, lease: string | undefined, options: object): Policy {
  checkOptions(text, options, lease === undefined ? '' : 'lease')
  return concurrency({ limit, ...(lease === undefined ? {} : { lease: lease as Duration }), ...options })
}

/** Throws if an option is both in the text and in `options`, because the option would silently replace the number in the text. */
function checkOptions(text: string, options: object, words: string): void {
  checkTextOptions('policy', options, "'100/15m', { name: 'api' }")
  const twice = ['limit', 'window', 'burst', 'lease'].find((option) => {
    return option in options && (option === 'limit' || option === 'window' || words.toLowerCase().includes(option))
  })
  if (twice === undefined) return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `policy: ${twice} is in the text ${shown(text)} and in the options. Write it in the text only.`,
  )
}

/** Throws for an algorithm of another package, because stores can read and write only the states of this package's kinds. */
function checkAlgorithm(algorithm: unknown): void {
  if (algorithm instanceof Algorithm && isKind(algorithm.kind)) return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    'The algorithm of a policy is one that a constructor of this package makes. Use one such as tokenBucket({ limit, window }).',
  )
}

/** Makes a policy from a policy, a text or options. @throws HeadgateError if the text or an option is invalid */
export function toPolicy(like: PolicyLike): Policy {
  if (typeof like === 'string') return policy(like)
  if (typeof like === 'object' && like !== null && 'algorithm' in like) {
    checkAlgorithm(like.algorithm)
    return like
  }
  if (typeof like === 'object' && like !== null && isOther(like)) throw noPolicy(like)
  const plan = planIn(like)
  if (plan !== undefined) throw plansGiven(plan)
  return slidingWindow(like as PolicyOptions)
}

/** True for a plan (policies of one caller), and for a policy file. */
function isOther(like: object): boolean {
  return 'policies' in like || ('plan' in like && typeof like.plan === 'function')
}

function noPolicy(like: object): HeadgateError {
  const [got, plan] = 'policies' in like ? ['a plan', 'plan'] : ['a policy file', "limits.plan('api')"]
  return new HeadgateError(
    'HEADGATE_POLICY',
    `A policy is expected, got ${got}. For the plan of a caller, write limiter.withPlan(${plan}), of a limiter with policies: ` +
      `'unlimited'. In a middleware, write policies: () => ${plan}.`,
  )
}

/**
 * The name of the first plan, if the value has policies by the names of plans: `{ free: '60/1m', pro: '600/1m' }`. Undefined for other
 * values.
 */
function planIn(like: unknown): string | undefined {
  if (typeof like !== 'object' || like === null || Array.isArray(like) || 'limit' in like) return undefined
  const isPlan = (value: unknown) => (typeof value === 'string' ? form.test(value) : typeof value === 'object')
  return Object.values(like).every(isPlan) ? Object.keys(like)[0] : undefined
}

function plansGiven(plan: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `A policy has no option ${shown(plan)}. For a plan of each request, write policies: (request) => plans[request.user.plan] in rateLimit.`,
  )
}

function notUnderstood(text: unknown): HeadgateError {
  const ofMonth = typeof text === 'string' && /\/\s*mo(n|nths?)?\b/i.test(text)
  return new HeadgateError(
    'HEADGATE_POLICY',
    `A policy is limit/window, then optionally the algorithm and the burst, got ${shown(text)}. ` +
      `Write '100/15m', '10/1s burst 20', '5/10s sliding-log' or '4 at once'; the algorithms are ${[...algorithms.keys()].join(', ')}.${ofMonth ? ` ${monthFix}` : ''}`,
  )
}
