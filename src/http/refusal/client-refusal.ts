import { isListed, type Policy } from '../../algorithms/index.ts'
import type { Decision } from '../../policy/index.ts'

/** The facts about a refusal that the response shows to the client. The application has the exact numbers in the decision. */
export interface ClientRefusal {
  /** The label of the policy with the longest wait. Null if clients see no name of the policy (`listed: false`). */
  readonly policy: string | null
  /** How many milliseconds the client should wait: at most the option `retryAfter` of a `concurrency` policy that has this option. */
  readonly retryAfter: number
}

/** Makes the facts about a refusal for the client. @param policies the policies of the limiter that decided */
export function clientRefusal(decision: Decision, policies: readonly Policy[]): ClientRefusal {
  const { ban, tried, policies: verdicts } = decision
  const waits = verdicts.filter(({ shadow, retryAfter }) => !shadow && retryAfter > 0)
  if (ban !== undefined || waits.length === 0) return toldOf(decision, policies)
  // A call with a list of costs is admitted as soon as one of its costs is admitted, so the shortest wait counts.
  if (tried !== undefined) return tried.map((each) => toldOf(each, policies)).reduce(shorter)
  const told = waits.map(({ name, retryAfter }) => toldOf({ policy: name, retryAfter }, policies)).reduce(longer)
  // After the end of an override, other policies may refuse the call for longer than all policies of now.
  const outlasts = waits.every(({ retryAfter }) => retryAfter < decision.retryAfter)
  return outlasts ? { ...told, retryAfter: decision.retryAfter } : told
}

/** The name of a policy for clients: null if no client sees it. */
export function clientName(name: string, policies: readonly Policy[]): string | null {
  const policy = policies.find((each) => each.name === name)
  if (policy === undefined) return name // a ban by hand belongs to no policy
  return isListed(policy) ? (policy.label ?? name) : null
}

type Wait = Pick<Decision, 'policy' | 'retryAfter'>

function toldOf({ policy: name, retryAfter }: Wait, policies: readonly Policy[]): ClientRefusal {
  const hint = policies.find((each) => each.name === name)?.retryAfter ?? Infinity
  return {
    policy: clientName(name, policies),
    retryAfter: retryAfter === Infinity ? Infinity : Math.min(retryAfter, hint),
  }
}

function shorter(best: ClientRefusal, each: ClientRefusal): ClientRefusal {
  return each.retryAfter < best.retryAfter ? each : best
}

function longer(best: ClientRefusal, each: ClientRefusal): ClientRefusal {
  return each.retryAfter > best.retryAfter ? each : best
}
