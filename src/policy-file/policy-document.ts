import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import { gcra, leakyBucket, tokenBucket } from '../algorithms/buckets/index.ts'
import { type Policy, policy } from '../algorithms/index.ts'
import { concurrency, slidingLog } from '../algorithms/logs/index.ts'
import { fixedWindow, segmentedWindow, slidingWindow } from '../algorithms/windows/index.ts'
import { calendarWindow, quota } from '../calendar/index.ts'
import { HeadgateError, shown } from '../common/index.ts'
import { type Candidate, type Plan, RateLimiter } from '../limiter/index.ts'
import { checkDurations } from './check-durations.ts'
import { type JsonNode, JsonProblem, readJson } from './json-document.ts'

/** The plans of one limiter. */
export interface LimiterPlans {
  /** The plan without a name: the `policies` of the limiter. Undefined if the limiter has named plans only. */
  readonly own: PlanOfFile | undefined
  /** The plans with a name, in the order of the file. */
  readonly plans: ReadonlyMap<string, PlanOfFile>
}

/** A plan for `withPlan`. Until the file changes, a plan is always the same frozen object. */
export type PlanOfFile = 'unlimited' | Plan

/** The limiters of a policy file by their names. */
export type PolicyDocument = ReadonlyMap<string, LimiterPlans>

const constructors: Readonly<Record<string, (options: never) => Policy>> = {
  'sliding-window': slidingWindow,
  'fixed-window': fixedWindow,
  'segmented-window': segmentedWindow,
  'sliding-log': slidingLog,
  'token-bucket': tokenBucket,
  'leaky-bucket': leakyBucket,
  gcra,
  concurrency,
  calendar: calendarWindow,
}

/** Matches the text of a calendar quota, such as `1000/month`. The function `policy` does not read such a text. */
const isQuota = /\/\s*(\d+\s+)?(day|week|month|quarter|year)s?\b/i

/**
 * Reads and checks a policy file.
 * @param source the name of the file for errors; undefined for an object
 * @throws HeadgateError `HEADGATE_POLICY_FILE` if the text is not JSON or not a policy file; the codes of policies and penalties if one of
 *   them is invalid. The message begins with the line and the place in the file
 */
export function readPolicyDocument(text: string, source: string | undefined): PolicyDocument {
  const reader = new DocumentReader(source)
  return reader.read(text)
}

class DocumentReader {
  readonly #source: string | undefined

  constructor(source: string | undefined) {
    this.#source = source
  }

  read(text: string): PolicyDocument {
    const root = this.#json(text)
    const members = this.#object(root, '', ['$schema', 'limiters'], 'Write { "limiters": { "api": ["100/15m"] } }.')
    const limiters = members.get('limiters')
    if (limiters === undefined)
      throw this.#error(root, '', 'has no "limiters".', 'Write { "limiters": { "api": ["100/15m"] } }.')
    const byName = this.#object(limiters, 'limiters', undefined, 'Write { "api": ["100/15m"] }.')
    return new Map([...byName].map(([name, node]) => [name, this.#limiter(node, `limiters.${name}`)]))
  }

  #json(text: string): JsonNode {
    try {
      return readJson(text)
    } catch (problem) {
      if (!(problem instanceof JsonProblem)) throw problem
      throw this.#error(
        problem,
        '',
        problem.message,
        'Correct the JSON. JSON has no comments, and no comma after the last element.',
      )
    }
  }

  #limiter(node: JsonNode, path: string): LimiterPlans {
    if (node.members === undefined || isPolicy(node))
      return { own: this.#plan(node, path, undefined), plans: new Map() }
    const members = this.#object(node, path, ['policies', 'penalty', 'candidate', 'plans'], '')
    const penalty = penaltyIn(members, path)
    const candidate = candidateIn(members, path)
    const own = members.get('policies')
    const plans = members.get('plans')
    if (own === undefined && plans === undefined) {
      throw this.#error(node, path, 'has neither "policies" nor "plans".', 'Write "policies": ["100/15m"].')
    }
    if (own === undefined && candidate !== undefined) {
      const fix = 'Write "policies", or move "candidate" into a plan.'
      throw this.#error(candidate.node, path, 'has a "candidate" beside which there are no "policies".', fix)
    }
    const named =
      plans === undefined
        ? new Map<string, JsonNode>()
        : this.#object(plans, `${path}.plans`, undefined, 'Write { "pro": ["1000/15m"] }.')
    return {
      own: own === undefined ? undefined : this.#plan(own, `${path}.policies`, penalty, candidate),
      plans: new Map([...named].map(([name, plan]) => [name, this.#plan(plan, `${path}.plans.${name}`, penalty)])),
    }
  }

  /** @param inherited the penalty of the limiter, for a plan without a penalty of its own */
  #plan(node: JsonNode, path: string, inherited: Placed | undefined, candidate?: Placed): PlanOfFile {
    if (node.value === 'unlimited') {
      if (candidate === undefined) return 'unlimited'
      const fix = 'Write the policies with "shadow": true in place of "unlimited".'
      throw this.#error(candidate.node, candidate.path, 'cannot be tried beside "unlimited", which reads no key.', fix)
    }
    if (node.members === undefined || isPolicy(node))
      return this.#checked(node, path, this.#policies(node, path), inherited, candidate)
    const members = this.#object(node, path, ['policies', 'penalty', 'candidate'], '')
    const policies = members.get('policies')
    if (policies === undefined) throw this.#error(node, path, 'has no "policies".', 'Write "policies": ["100/15m"].')
    return this.#checked(
      node,
      path,
      this.#policies(policies, `${path}.policies`),
      penaltyIn(members, path) ?? inherited,
      candidateIn(members, path) ?? candidate,
    )
  }

  #policies(node: JsonNode, path: string): readonly Policy[] {
    if (node.items === undefined) return [this.#policy(node, path)]
    if (node.items.length === 0)
      throw this.#error(node, path, 'is empty.', 'Write ["100/15m"], or "unlimited" for a plan without limits.')
    return node.items.map((item, n) => this.#policy(item, `${path}[${n}]`))
  }

  #policy(node: JsonNode, path: string): Policy {
    const made = this.#at(node, path, () => {
      if (typeof node.value === 'string') return fromText(node.value, {})
      if (node.members === undefined) {
        throw new HeadgateError(
          'HEADGATE_POLICY_FILE',
          `A policy is a text or an object, got ${shown(node.value)}. Write "100/15m".`,
        )
      }
      return fromObject(node.value as Record<string, unknown>)
    })
    sources.set(made, JSON.stringify(node.value))
    return made
  }

  /** Returns the plan, or throws if a limiter would not take the plan: two policies have one name, or the penalty is invalid. */
  #checked(
    node: JsonNode,
    path: string,
    policies: readonly Policy[],
    penalty: Placed | undefined,
    candidate: Placed | undefined,
  ): PlanOfFile {
    const given = penalty?.node.value as PenaltyOptions | false
    const plan = { policies: Object.freeze(policies), ...(penalty !== undefined && { penalty: given }) }
    const name = 'policy-file'
    this.#at(node, path, () => new RateLimiter({ name, policies }))
    const known = { name, policies, ...(penalty !== undefined && given !== false && { penalty: given }) }
    if (penalty !== undefined) {
      this.#at(penalty.node, penalty.path, () => checkDurations(given))
      this.#at(penalty.node, penalty.path, () => new RateLimiter(known))
    }
    if (candidate === undefined) return Object.freeze(plan)
    const tried = this.#plan(candidate.node, candidate.path, undefined) as Candidate
    this.#at(candidate.node, candidate.path, () => new RateLimiter({ ...known, candidate: tried }))
    return Object.freeze({ ...plan, candidate: tried })
  }

  /** Runs a constructor. If the constructor throws, adds the place in the file to the error. */
  #at<Result>(node: JsonNode, path: string, make: () => Result): Result {
    try {
      return make()
    } catch (error) {
      if (!(error instanceof HeadgateError)) throw error
      const named = [...(node.members ?? [])].find(([name]) =>
        [`${name} must`, `no ${name} `, `no option "${name}"`].some((words) => error.message.includes(words)),
      )
      const at = named?.[1] ?? node.members?.get('policy') ?? node
      throw new HeadgateError(error.code, `${this.#place(at, path)} ${error.message}`)
    }
  }

  #object(
    node: JsonNode,
    path: string,
    known: readonly string[] | undefined,
    fix: string,
  ): ReadonlyMap<string, JsonNode> {
    const { members } = node
    if (members === undefined) throw this.#error(node, path, `should be an object, not ${shown(node.value)}.`, fix)
    const other = [...members.keys()].find((name) => known?.includes(name) === false)
    if (other === undefined) return members
    throw this.#error(
      members.get(other) as JsonNode,
      path,
      `has an unknown property ${JSON.stringify(other)}.`,
      `The properties are ${known?.join(', ')}.`,
    )
  }

  #error(node: { line: number }, path: string, problem: string, fix: string): HeadgateError {
    return new HeadgateError(
      'HEADGATE_POLICY_FILE',
      `${this.#place(node, path)} ${problem}${fix === '' ? '' : ` ${fix}`}`,
    )
  }

  #place({ line }: { readonly line: number }, path: string): string {
    const where = this.#source === undefined ? 'The policies' : `${this.#source}, line ${line}`
    return path === '' ? `${where}:` : `${where}, ${path}:`
  }
}

/** The JSON of each policy in the file. */
const sources = new WeakMap<Policy, string>()

/** The JSON from which a policy of a file was made. */
export function sourceOf(policy: Policy): string {
  return sources.get(policy) as string
}

/** A penalty or a candidate, and its place in the file: in a plan, or in the limiter of the plan. */
interface Placed {
  readonly node: JsonNode
  readonly path: string
}

function penaltyIn(members: ReadonlyMap<string, JsonNode>, path: string): Placed | undefined {
  const node = members.get('penalty')
  return node && { node, path: `${path}.penalty` }
}

function candidateIn(members: ReadonlyMap<string, JsonNode>, path: string): Placed | undefined {
  const node = members.get('candidate')
  return node && { node, path: `${path}.candidate` }
}

/** True if the object is one policy. False for a limiter or a plan. */
function isPolicy({ members }: JsonNode): boolean {
  return members !== undefined && ['policy', 'algorithm', 'limit'].some((name) => members.has(name))
}

function fromText(text: string, options: object): Policy {
  return isQuota.test(text) ? quota(text, options) : policy(text, options)
}

/** A policy from `{ "policy": "100/15m", "scope": "user" }` or `{ "algorithm": "token-bucket", "limit": 100, ... }`. */
function fromObject({ policy: text, algorithm, ...options }: Record<string, unknown>): Policy {
  if (text !== undefined && algorithm !== undefined) {
    throw new HeadgateError(
      'HEADGATE_POLICY_FILE',
      'A policy has a "policy" or an "algorithm", not both. Write { "policy": "100/15m" }.',
    )
  }
  if (typeof text === 'object' && text !== null) {
    throw new HeadgateError(
      'HEADGATE_POLICY_FILE',
      `"policy" must be a text, got ${shown(text)}. Write { "policy": "100/15m" }, or "limit" and "window" in place of "policy".`,
    )
  }
  checkDurations(options)
  if (text !== undefined) return fromText(text as string, options)
  const standard = options.every === undefined ? 'sliding-window' : 'calendar'
  const name = algorithm === undefined ? standard : algorithm
  if (typeof name !== 'string' || !Object.hasOwn(constructors, name)) {
    throw new HeadgateError(
      'HEADGATE_POLICY_FILE',
      `There is no algorithm ${shown(algorithm)}. The algorithms are ${Object.keys(constructors).join(', ')}.`,
    )
  }
  return (constructors[name] as (options: object) => Policy)(options)
}
