import TinyQueue from 'tinyqueue'

/** Returns the requests of a workload in the order of time. Requests of one time come in the order they were made. */
export class Simulation {
  #queue
  #made = 0
  #workload

  constructor(workload) {
    this.#workload = workload
    const requests = workload.requests.map((request) => this.#number(request))
    this.#queue = new TinyQueue(requests, (a, b) => a.time - b.time || a.number - b.number)
  }

  /** The next request; undefined after the last one. */
  next() {
    return this.#queue.pop()
  }

  /** The time of the next request; undefined after the last one. */
  get nextTime() {
    return this.#queue.peek()?.time
  }

  /** Passes the decision to the workload, which may make another request. */
  answered(request, decision) {
    const next = this.#workload.answered?.(request, decision)
    if (next !== undefined) this.#queue.push(this.#number(next))
  }

  #number(request) {
    return { ...request, number: this.#made++ }
  }
}
