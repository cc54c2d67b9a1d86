import { sameDefinition } from 'headgate/store'
import { Breakdown } from './breakdown.mjs'
import { sameLimit } from './same-limit.mjs'
import { TimeBins } from './time-bins.mjs'
import { trialOf, VirtualClock } from './trial.mjs'

/** Plays the requests of a log through limits, by the log's own clock. Counts the requests that each limit refuses. */
export class Replay {
  requests = 0
  from
  to
  #clock = new VirtualClock()
  #policies
  #bins
  #clients
  #fields

  /** @param {{ text: string, policy: import('headgate').Policy }[]} policies each is tried without the others */
  constructor(policies) {
    this.#policies = policies.map(({ text, policy }) => new PolicyReplay(text, policy, this.#clock))
    this.#bins = new TimeBins(policies.length + 1)
    this.#clients = new Breakdown(policies.length, Infinity)
    const fields = ['status', 'route', 'agent']
    this.#fields = fields.map((name) => ({ name, values: new Breakdown(policies.length) }))
  }

  /** The records must come in the order of their times. A record with an earlier time sets the clock back. */
  request(client, record) {
    const { time } = record
    this.requests++
    this.from = Math.min(this.from ?? time, time)
    this.to = Math.max(this.to ?? time, time)
    this.#clock.set(time)
    this.#bins.add(time, 0)
    const number = this.#clients.request(client)
    const key = this.#clients.nameOf(number) // the same text each time: its hash is known
    const numbers = this.#fields.map(({ name, values }) => values.request(record[name]))
    for (const [n, policy] of this.#policies.entries()) {
      if (policy.admits(key, this.#clients, n, number)) continue
      this.#bins.add(time, n + 1)
      for (const [field, { values }] of this.#fields.entries()) values.refuse(n, numbers[field])
    }
  }

  result() {
    const policies = this.#policies.map((policy, n) => ({
      ...policy.result(this.requests, this.#clients, n),
      ...Object.fromEntries(this.#fields.map(({ name, values }) => [name, values.top(n)])),
      refusedOverTime: this.#bins.counts(n + 1),
    }))
    const { from, to, requests } = this
    const clients = this.#clients.size
    const overTime = { times: this.#bins.times(), width: this.#bins.width, requests: this.#bins.counts(0) }
    return { requests, clients, from, to, overTime, policies }
  }
}

/** Tries one policy, and the same limit under each algorithm. */
class PolicyReplay {
  #text
  #policy
  #trial
  #refused = 0
  #longestWait = 0
  #others

  constructor(text, policy, clock) {
    this.#text = text
    this.#trial = trialOf(policy, clock)
    this.#others = sameLimit(policy)
      .filter(([, same]) => !sameDefinition(same.algorithm, policy.algorithm))
      .map(([name, same]) => ({ name, trial: trialOf(same, clock), refused: 0 }))
    this.#policy = policy
  }

  admits(key, clients, policy, number) {
    const { allowed, retryAfter } = this.#trial.consumeSync(key)
    for (const other of this.#others) if (!other.trial.consumeSync(key).allowed) other.refused++
    if (allowed) return true
    this.#refused++
    if (retryAfter > this.#longestWait) this.#longestWait = retryAfter
    clients.refuse(policy, number)
    return false
  }

  result(requests, clients, policy) {
    const affected = clients.affected(policy)
    return {
      policy: this.#text,
      admitted: requests - this.#refused,
      refused: this.#refused,
      refusedShare: share(this.#refused, requests),
      clientsAffected: affected,
      clientsAffectedShare: share(affected, clients.size),
      longestWait: this.#longestWait,
      clients: clients.top(policy),
      algorithms: sameLimit(this.#policy).map(([name]) => this.#byAlgorithm(name, requests)),
    }
  }

  /** The requests that an algorithm refused. An algorithm that is not compared is the policy's own. */
  #byAlgorithm(name, requests) {
    const { refused } = this.#others.find((other) => other.name === name) ?? { refused: this.#refused }
    return { algorithm: name, admitted: requests - refused, refused, refusedShare: share(refused, requests) }
  }
}

export function share(part, whole) {
  return whole === 0 ? 0 : part / whole
}
