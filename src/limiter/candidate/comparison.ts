import { channel } from '#platform'
import { attempt, isPromise, type MaybePromise } from '../../common/index.ts'
import type { Channel } from '../../platform/platform.ts'
import type { Decision } from '../../policy/index.ts'
import type { CandidateHealth } from '../../stores/contract/index.ts'
import type { AnyCost, Key } from '../call-arguments.ts'
import type { CalledLimiter } from '../limiter-events.ts'

/** The event on the channel `headgate:limiter:candidate`: a call that the current policies and the candidate have both decided. */
export interface CandidateEvent {
  /** The name of the limiter. */
  readonly limiter: string
  /** The limiter with the current policies. */
  readonly instance: CalledLimiter
  readonly key: Key
  /** The units of the call, as the caller gave them. */
  readonly cost: AnyCost
  /** The decision of the current policies, which the caller got. */
  readonly decision: Decision
  /** The decision of the candidate, which nobody enforces. */
  readonly candidate: Decision
}

/** A call that the current policies and the candidate decide. */
export type ComparedCall = Pick<CandidateEvent, 'instance' | 'key' | 'cost'>

const compared: Channel = channel('headgate:limiter:candidate')

/** Counts how the decisions of a candidate differ, for all plans (policies of one caller) of a limiter. */
export class Comparison {
  #newlyRefused = 0
  #noLongerRefused = 0
  #same = 0
  #undecided = 0

  /**
   * Compares two decisions about a call when both are there. Never throws.
   * @param decision of the current policies
   * @param ask asks the candidate; not called if the store has already failed this call
   */
  add(call: ComparedCall, decision: MaybePromise<Decision>, ask: () => MaybePromise<Decision>): void {
    const candidate = isPromise(decision) || decision.source === 'store' ? attempt(ask) : undefined
    if (candidate === undefined) this.#undecided++
    else if (isPromise(decision) || isPromise(candidate)) {
      const undecided = () => void this.#undecided++
      Promise.all([decision, candidate]).then(([current, tried]) => this.#count(call, current, tried), undecided)
    } else this.#count(call, decision, candidate)
  }

  #count({ instance, key, cost }: ComparedCall, decision: Decision, candidate: Decision): void {
    if (decision.source !== 'store' || candidate.source !== 'store') {
      this.#undecided++
      return
    }
    if (decision.allowed === candidate.allowed) this.#same++
    else if (decision.allowed) this.#newlyRefused++
    else this.#noLongerRefused++
    if (!compared.hasSubscribers) return
    const { name: limiter } = instance
    compared.publish({ limiter, instance, key, cost, decision, candidate } satisfies CandidateEvent)
  }

  health(): CandidateHealth {
    const [newlyRefused, noLongerRefused] = [this.#newlyRefused, this.#noLongerRefused]
    return {
      compared: this.#same + newlyRefused + noLongerRefused,
      newlyRefused,
      noLongerRefused,
      undecided: this.#undecided,
    }
  }
}
