import { RateLimiter } from 'headgate'
import { policyFrom } from '../../../../lab/engine/policy-from.mjs'
import { Simulation } from '../../../../lab/engine/simulation.mjs'
import { VirtualClock } from '../../../../lab/engine/trial.mjs'
import { OpenStore } from './open-store.mjs'
import { stateView } from './state-view.mjs'

/** The time at which every run without a log starts: a boundary of every window up to a day. */
export const epoch = Date.UTC(2026, 0, 1)

/** A policy from its text. @throws HeadgateError with the fix */
export function policyOf(text) {
  const made = policyFrom(text)
  if (made.algorithm.leases) throw new Error('The playground shows rates: a request has no end here. Write 10/1s.')
  return made
}

/** One policy that meets a workload, on a virtual clock, by the real limiter. Times are milliseconds from the start. */
export class Run {
  #clock = new VirtualClock()
  #store = new OpenStore(this.#clock.now)
  #policy
  #limiter
  #simulation
  #shared
  #start
  #key = ''

  /**
   * @param {import('headgate').Policy} policy
   * @param {object} workload see lab/engine/workloads.mjs; `start` is when it begins, in milliseconds since the epoch
   * @param {{ shared: boolean }} options `shared`: all clients share one limit
   */
  constructor(policy, workload, { shared }) {
    this.#policy = policy
    this.#limiter = new RateLimiter({ policies: policy, store: this.#store })
    this.#simulation = new Simulation(workload)
    this.#shared = shared
    this.#start = workload.start ?? epoch
  }

  /** The time of the next request; undefined after the last one. */
  get nextTime() {
    return this.#simulation.nextTime
  }

  /** Decides the next request. Returns the request with its decision. */
  step() {
    const request = this.#simulation.next()
    const { time, client, cost = 1 } = request
    this.#clock.set(this.#start + time)
    this.#key = this.#shared ? 'everyone' : String(client)
    const decision = this.#limiter.consumeSync(this.#key, { cost })
    this.#simulation.answered(request, decision)
    return { time, client, cost, key: this.#key, decision }
  }

  /** What the algorithm remembers of the client that called last. */
  state(time) {
    this.#clock.set(this.#start + time)
    return stateView(this.#policy.algorithm, this.#store.stateOf(this.#key), this.#clock.now())
  }

  /** What `inspect` says of the client that called last: the numbers of the policy, and a sentence. */
  async inspect(time) {
    this.#clock.set(this.#start + time)
    const { policies } = await this.#limiter.inspect(this.#key === '' ? 'nobody' : this.#key)
    return policies[0]
  }
}
