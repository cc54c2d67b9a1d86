import { RateLimiter } from 'headgate'
import { policyFrom } from '../../../../lab/engine/policy-from.mjs'
import { Simulation } from '../../../../lab/engine/simulation.mjs'
import { VirtualClock } from '../../../../lab/engine/trial.mjs'
import { OpenStore } from './open-store.mjs'
import { stateView } from './state-view.mjs'

/** The time at which every run starts: a boundary of every window up to a day. */
export const epoch = Date.UTC(2026, 0, 1)

/** A policy from its text. @throws HeadgateError with the fix */
export function policyOf(text) {
  const made = policyFrom(text)
  if (made.algorithm.leases) throw new Error('The playground shows rates: a request has no end here. Write 10/1s.')
  return made
}

/** One policy that meets a workload, on a virtual clock, by the real limiter. Times are milliseconds from the start. */
export class Run {
  admitted = 0
  refused = 0
  mostInWindow = 0
  /** The newest decisions: { number, time, client, allowed, remaining, retryAfter }. */
  decisions = []
  #clock = new VirtualClock()
  #store = new OpenStore(this.#clock.now)
  #policy
  #limiter
  #simulation
  #shared
  #key = ''
  #inWindow = new Map()

  /**
   * @param {import('headgate').Policy} policy
   * @param {object} workload see lab/engine/workloads.mjs
   * @param {{ shared: boolean }} options `shared`: all clients share one limit
   */
  constructor(policy, workload, { shared }) {
    this.#policy = policy
    this.#limiter = new RateLimiter({ policies: policy, store: this.#store })
    this.#simulation = new Simulation(workload)
    this.#shared = shared
  }

  get limit() {
    return this.#policy.limit
  }

  get window() {
    return this.#policy.window
  }

  /** The time of the next request; undefined after the last one. */
  get nextTime() {
    return this.#simulation.nextTime
  }

  /** Decides the next request. */
  step() {
    const request = this.#simulation.next()
    if (request === undefined) return
    const { time, client } = request
    this.#clock.set(epoch + time)
    this.#key = this.#shared ? 'everyone' : String(client)
    const decision = this.#limiter.consumeSync(this.#key)
    this.#count(time, client, decision)
    this.#simulation.answered(request, decision)
  }

  /** Decides all requests up to a time. */
  advance(until) {
    while (this.nextTime !== undefined && this.nextTime <= until) this.step()
  }

  /** What the algorithm remembers of the client that called last. */
  state(time) {
    this.#clock.set(epoch + time)
    return stateView(this.#policy.algorithm, this.#store.stateOf(this.#key), this.#clock.now())
  }

  #count(time, client, { allowed, remaining, retryAfter }) {
    const number = this.admitted + this.refused + 1
    if (allowed) this.admitted++
    else this.refused++
    if (this.decisions.length >= 4000) this.decisions = this.decisions.slice(2000)
    this.decisions.push({ number, time, client, allowed, remaining, retryAfter })
    if (allowed) this.#admit(time)
  }

  #admit(time) {
    const times = this.#inWindow.get(this.#key) ?? []
    times.push(time)
    while (times[0] <= time - this.window) times.shift()
    this.#inWindow.set(this.#key, times)
    this.mostInWindow = Math.max(this.mostInWindow, times.length)
  }
}
