import { Evaluation } from 'headgate/store'

/**
 * A store whose states can be looked at. The limiter and the arithmetic are the real ones: this only keeps the numbers of each
 * key in a Map. It knows the one verb that the playground uses.
 */
export class OpenStore {
  synchronous = true
  #clock
  #states = new Map()

  /** @param {() => number} clock whole microseconds */
  constructor(clock) {
    this.#clock = clock
  }

  /** The numbers of a key under the only policy; undefined for a key that never called. */
  stateOf(key) {
    return this.#states.get(key)
  }

  open({ policies }) {
    const evaluation = new Evaluation(policies)
    const [policy] = evaluation.policies
    return {
      decide: (verb, [key], cost) => {
        policy.s = this.#states.get(key) ?? new Array(policy.algorithm.slots).fill(0)
        evaluation.evaluate(verb, this.#clock(), cost, 0)
        const decision = evaluation.commit('store')
        if (policy.wrote) this.#states.set(key, policy.s)
        return decision
      },
    }
  }
}
