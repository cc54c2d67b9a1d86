import { KeyStates, runOnStates, ScopedEvaluation } from 'headgate/store'

/**
 * A store whose states can be looked at. The limiter and the arithmetic are the real ones: this only keeps the numbers of each
 * key in a Map.
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
    return this.#states.get(key)?.states.values().next().value?.s
  }

  open(terms) {
    const evaluation = new ScopedEvaluation(terms)
    return {
      run: (command) => {
        const [key] = command.keys
        const states = this.#states.get(key) ?? new KeyStates()
        if (command.verb === 'inspect') return [{ now: this.#clock(), states: states.kept, ban: states.storedBan }]
        const outcome = runOnStates([states], evaluation, command, this.#clock())
        if (states.changed) this.#states.set(key, states)
        return outcome
      },
    }
  }
}
