import { GrowingCounts } from './growing-counts.mjs'
import { Names } from './names.mjs'

const crawlers = /bot\b|crawl|spider|slurp|archiver|scrap/i
const scripts =
  /^(curl|wget|python|go-http|java|okhttp|axios|node|undici|ruby|perl|php|libwww|postman|k6|apache-httpclient|dart)/i
/** From this many user agents on, a client is probably many users behind one address. */
export const manyAgents = 20
const mostly = 0.8
const few = 10

/** What the requests of each client have in common, in a few numbers: enough to guess what the client is. */
export class ClientProfiles {
  #requests = new GrowingCounts()
  #turnedAway = new GrowingCounts()
  #agents = new MajorityOf()
  #routes = new MajorityOf()

  request(client, { status, route, agent }) {
    this.#requests.add(client)
    if (status === '401' || status === '403' || status === '404') this.#turnedAway.add(client)
    this.#agents.add(client, agent ?? '-')
    this.#routes.add(client, route ?? '-')
  }

  /** What the client looks like: a guess. @param {number} agents how many user agents it has */
  guess(client, agents) {
    const requests = this.#requests.of(client)
    const agent = this.#agents.of(client)
    if (agents >= manyAgents) return `many users behind one address (${agents} user agents)`
    if (requests >= few && this.#turnedAway.of(client) >= mostly * requests)
      return 'an attacker or a scanner (401, 403 or 404 for most requests)'
    if (crawlers.test(agent)) return `a crawler (${agent})`
    if (scripts.test(agent)) return `a script (${agent})`
    const route = this.#routes.of(client)
    if (requests >= few && this.#routes.countOf(client) >= mostly * requests) return `a program that polls ${route}`
    return agent === '-' ? 'a client without a user agent' : `a busy user (${agent})`
  }
}

/** The most frequent value of each client, if it is more than half of all (Boyer and Moore's vote), in two numbers a client. */
class MajorityOf {
  #names = new Names(10_000)
  #candidates = []
  #votes = []
  #counts = []

  add(client, value) {
    const name = this.#names.numberOf(value)
    if (this.#candidates[client] === name) {
      this.#votes[client]++
      this.#counts[client]++
    } else if (this.#votes[client] > 0) this.#votes[client]--
    else {
      this.#candidates[client] = name
      this.#votes[client] = 1
      this.#counts[client] = 1
    }
  }

  of(client) {
    return this.#names.nameOf(this.#candidates[client])
  }

  /** How many requests had this value since it became the candidate. */
  countOf(client) {
    return this.#counts[client]
  }
}
