import { GrowingCounts } from './growing-counts.mjs'
import { Names } from './names.mjs'
import { share } from './replay.mjs'
import { trialOf, VirtualClock } from './trial.mjs'

/** How many clients a table has. */
const mostClients = 10

/**
 * Plays the requests of a log through two plans of a limiter, the old one and the new one, by the log's own clock. Each plan decides as
 * one limiter: all policies admit a request, or it takes nothing.
 */
export class Diff {
  requests = 0
  from
  to
  #clock = new VirtualClock()
  #old
  #new
  #names = new Names()
  #requestsOf = new GrowingCounts()

  /** @param {import('headgate').PlanLike} old @param {import('headgate').PlanLike} now */
  constructor(old, now) {
    this.#old = new PlanTrial(old, this.#clock)
    this.#new = new PlanTrial(now, this.#clock)
  }

  /** The records must come in the order of their times. A record with an earlier time sets the clock back. */
  request(client, { time }) {
    this.requests++
    this.from = Math.min(this.from ?? time, time)
    this.to = Math.max(this.to ?? time, time)
    this.#clock.set(time)
    const number = this.#names.numberOf(client)
    this.#requestsOf.add(number)
    const key = this.#names.nameOf(number) // the same text each time: its hash is known
    const [before, after] = [this.#old.admits(key, number), this.#new.admits(key, number)]
    if (before && !after) this.#new.alone.add(number)
    if (after && !before) this.#old.alone.add(number)
  }

  result() {
    const { requests, from, to } = this
    const clients = this.#clients()
    return {
      requests,
      clients: clients.length,
      from,
      to,
      old: this.#totals(clients, 'refusedBefore'),
      new: this.#totals(clients, 'refusedAfter'),
      newlyRefused: this.#totals(clients, 'newlyRefused'),
      noLongerRefused: this.#totals(clients, 'noLongerRefused'),
      newlyAffected: clients.filter(({ refusedBefore, refusedAfter }) => refusedBefore === 0 && refusedAfter > 0)
        .length,
      noLongerAffected: clients.filter(({ refusedBefore, refusedAfter }) => refusedBefore > 0 && refusedAfter === 0)
        .length,
      clientsNewlyRefused: top(clients, 'newlyRefused'),
      clientsNoLongerRefused: top(clients, 'noLongerRefused'),
    }
  }

  #clients() {
    return Array.from({ length: this.#names.size }, (_, number) => ({
      client: this.#names.nameOf(number),
      requests: this.#requestsOf.of(number),
      refusedBefore: this.#old.refused.of(number),
      refusedAfter: this.#new.refused.of(number),
      newlyRefused: this.#new.alone.of(number),
      noLongerRefused: this.#old.alone.of(number),
    }))
  }

  /** How many requests, and of how many clients. */
  #totals(clients, field) {
    const requests = clients.reduce((sum, each) => sum + each[field], 0)
    return {
      requests,
      share: share(requests, this.requests),
      clients: clients.filter((each) => each[field] > 0).length,
    }
  }
}

function top(clients, field) {
  return clients
    .filter((each) => each[field] > 0)
    .sort((a, b) => b[field] - a[field] || b.requests - a.requests)
    .slice(0, mostClients)
}

/** One of the two plans: the requests that it refuses, and those that it alone refuses, by the number of the client. */
class PlanTrial {
  refused = new GrowingCounts()
  alone = new GrowingCounts()
  #trial
  #scopes
  #keys = []

  constructor(plan, clock) {
    this.#trial = trialOf(plan, clock)
    this.#scopes = [...new Set(this.#trial.policies.map(({ scope }) => scope))]
  }

  /** @param {string} client who calls under every scope @param {number} number of the client */
  admits(client, number) {
    this.#keys[number] ??= Object.fromEntries(this.#scopes.map((scope) => [scope, client]))
    const { allowed } = this.#trial.consumeSync(this.#keys[number])
    if (!allowed) this.refused.add(number)
    return allowed
  }
}
