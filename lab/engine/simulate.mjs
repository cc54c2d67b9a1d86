import { fairness } from './fairness.mjs'
import { fleetOf } from './fleet.mjs'
import { mostInWindow } from './most-in-window.mjs'
import { quantiles } from './quantiles.mjs'
import { randomOf } from './random.mjs'
import { share } from './replay.mjs'
import { Simulation } from './simulation.mjs'
import { TimeBins } from './time-bins.mjs'
import { VirtualClock } from './trial.mjs'
import { workloads } from './workloads.mjs'

/** The time at which simulations start: a boundary of every window up to a day. */
const epoch = Date.UTC(2026, 0, 1)

/** Makes the named workload for a policy with this limit and window. See workloads.mjs for its parameters. */
export function workloadOf(name, { rate, duration, clients, seed }, { limit, window }) {
  return workloads[name].make({ rate, duration, clients, random: randomOf(seed), limit, window })
}

/**
 * Plays a workload against a policy on a virtual clock, with the real code.
 * @param {object} workload see workloads.mjs
 * @param {import('headgate').Policy} policy
 * @param {{ store?: 'memory' | 'lru' | 'shared', processes?: number, sharedKey?: boolean }} [options] `sharedKey`: all clients
 *   share one limit
 */
export async function simulate(workload, policy, { store, processes, sharedKey = false } = {}) {
  const clock = new VirtualClock()
  const decide = fleetOf(policy, clock, { store, processes })
  const simulation = new Simulation(workload)
  const tally = new SimulationTally(sharedKey)
  for (let request = simulation.next(); request !== undefined; request = simulation.next()) {
    clock.set(epoch + request.time)
    const decision = await decide(sharedKey ? 'everyone' : `client ${request.client}`)
    tally.add(request, decision)
    simulation.answered(request, decision)
  }
  return tally.result(policy)
}

class SimulationTally {
  #requests = 0
  #bins = new TimeBins(2, { most: 144, width: 100 })
  #told = []
  #waited = []
  #admittedTimes = new Map()
  #admittedOf = new Map()
  #sharedKey

  constructor(sharedKey) {
    this.#sharedKey = sharedKey
  }

  add({ time, client, first = time }, { allowed, retryAfter }) {
    this.#requests++
    this.#bins.add(time, allowed ? 0 : 1)
    const admitted = this.#admittedOf.get(client) ?? 0
    this.#admittedOf.set(client, admitted + (allowed ? 1 : 0))
    if (!allowed) {
      this.#told.push(retryAfter)
      return
    }
    this.#waited.push(time - first)
    const key = this.#sharedKey ? 'everyone' : client
    const times = this.#admittedTimes.get(key)
    if (times === undefined) this.#admittedTimes.set(key, [time])
    else times.push(time)
  }

  result({ limit, window }) {
    const refused = this.#told.length
    const most = Array.from(this.#admittedTimes.values(), (times) => mostInWindow(times, window))
    const perClient = [...this.#admittedOf.values()]
    return {
      requests: this.#requests,
      admitted: this.#requests - refused,
      refused,
      refusedShare: share(refused, this.#requests),
      limit,
      mostInAnyWindow: most.reduce((a, b) => Math.max(a, b), 0),
      retryAfter: quantiles(this.#told),
      waited: quantiles(this.#waited),
      clients: perClient.length,
      fairness: fairness(perClient),
      leastOfAClient: perClient.reduce((a, b) => Math.min(a, b), Infinity),
      mostOfAClient: perClient.reduce((a, b) => Math.max(a, b), 0),
      overTime: {
        times: this.#bins.times(),
        width: this.#bins.width,
        admitted: this.#bins.counts(0),
        refused: this.#bins.counts(1),
      },
    }
  }
}
