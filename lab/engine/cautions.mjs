import { manyAgents } from './client-profiles.mjs'
import { GrowingCounts } from './growing-counts.mjs'
import { Names } from './names.mjs'

/** The same request within this many milliseconds after a failure is a retry. */
const retryWithin = 2000
/** A share of requests from which on a caution is shown. */
const notable = 0.001

/** Finds properties of a log that make a limit chosen from this log doubtful. */
export class Cautions {
  #requests = 0
  #limited = 0
  #retries = 0
  #wholeSeconds = true
  #failures = new Map()
  #agents = new Names(10_000)
  #pairs = new Set()
  #agentsOf = new GrowingCounts()
  #shared = new Set()

  request(client, { time, status, route, agent }) {
    this.#requests++
    if (time % 1000 !== 0) this.#wholeSeconds = false
    if (status === '429' || status === '503') this.#limited++
    this.#countRetry(client, time, status, route)
    if (agent !== undefined) this.#countAgent(client, agent)
  }

  /** @param span milliseconds from the first request to the last @param windows in milliseconds */
  list(span, windows) {
    const longest = windows.filter((window) => window > span)
    return [
      [
        this.#shared.size > 0,
        `${this.#shared.size === 1 ? '1 client has' : `${this.#shared.size} clients have`} ${manyAgents} agents or more, perhaps many users behind one address. A limit by address treats them as one.`,
      ],
      [this.#wholeSeconds, 'Times have whole seconds only. Windows of a few seconds are less exact than they look.'],
      [
        this.#retries > notable * this.#requests,
        `${this.#retries} requests are retries within 2 s of a failure. They may stop when the cause does.`,
      ],
      [
        this.#limited > notable * this.#requests,
        `${this.#limited} responses are 429 or 503. The traffic may have been limited already, so the demand was higher.`,
      ],
      [
        longest.length > 0,
        `The log is shorter than ${longest.length === 1 ? 'the longest window' : `${longest.length} of the windows`}. A limit for such a window is a guess.`,
      ],
    ].flatMap(([applies, text]) => (applies ? [text] : []))
  }

  /** How many user agents a client has. */
  agentsOf(client) {
    return this.#agentsOf.of(client)
  }

  #countRetry(client, time, status = '', route) {
    const failed = this.#failures.get(client)
    if (failed !== undefined && failed.route === route && time - failed.time <= retryWithin) this.#retries++
    if (status === '429' || status.startsWith('5')) this.#failures.set(client, { time, route })
    else if (failed !== undefined) this.#failures.delete(client)
  }

  #countAgent(client, agent) {
    const pair = client * 16_384 + this.#agents.numberOf(agent)
    if (this.#pairs.has(pair)) return
    this.#pairs.add(pair)
    if (this.#agentsOf.add(client) === manyAgents) this.#shared.add(client)
  }
}
