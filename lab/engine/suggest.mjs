import { slidingWindow, tokenBucket } from 'headgate'
import { Cautions } from './cautions.mjs'
import { ClientProfiles } from './client-profiles.mjs'
import { mostInWindow } from './most-in-window.mjs'
import { Names } from './names.mjs'
import { quantiles } from './quantiles.mjs'
import { share } from './replay.mjs'
import { RequestColumns } from './request-columns.mjs'
import { roundLimit, verdictWindow } from './verdict.mjs'

const windows = { '1s': 1000, '10s': 10_000, '1m': 60_000, '15m': 900_000, '1h': 3_600_000, '1d': 86_400_000 }

/** How many clients the verdict names. */
const named = 10

/**
 * Finds limits from the requests of a log. It keeps 12 bytes for each request, and replays them for every limit, one client after the other: no
 * client changes what a limit does to another one.
 */
export class Suggestion {
  #names = new Names()
  #requests = new RequestColumns()
  #cautions = new Cautions()
  #profiles = new ClientProfiles()
  #times
  /** For each window: the most requests of each client in any such window, and the clients in the order of this number. */
  #peaks = {}
  #busiest = {}

  /** The records must come in the order of their times. */
  request(client, record) {
    const number = this.#names.numberOf(client)
    this.#requests.add(number, record.time)
    this.#cautions.request(number, record)
    this.#profiles.request(number, record)
  }

  /**
   * @param {{ affect: number, refuse: number }} bounds the largest share of clients that a limit may refuse anything, and the largest share
   *   of requests that it may refuse, from 0 to 1
   * @param {(done: number) => void} [onProgress] called with the part of the work that is done, from 0 to 1
   */
  async result(bounds, onProgress = (_done) => {}) {
    this.#countPeaks()
    const rows = []
    const requests = this.#requests
    const [from, to] = [requests.time(0), requests.time(requests.length - 1)]
    const work = this.#workOfGrid()
    const total = work.reduce((sum, { requests }) => sum + requests, 0) + Object.keys(windows).length * requests.length
    let done = 0
    const step = async (amount) => {
      done += amount
      onProgress(done / total)
      await new Promise((resolve) => setImmediate(resolve)) // so that a signal can end the process
    }
    for (const name of Object.keys(windows)) {
      rows.push(this.#window(name, bounds))
      await step(requests.length)
    }
    const grid = []
    for (const { name, limit, requests } of work) {
      const cell = { window: name, ...this.#play(name, slidingWindow({ limit, window: windows[name] }), limit) }
      const row = grid.at(-1)
      if (row?.limit === limit) row.windows.push(cell)
      else grid.push({ limit, windows: [cell] })
      await step(requests)
    }
    return {
      requests: requests.length,
      clients: this.#names.size,
      from,
      to,
      ...bounds,
      windows: rows,
      grid,
      cautions: this.#cautions.list(to - from, Object.values(windows)),
      verdict: this.#verdict(rows, to - from),
    }
  }

  #countPeaks() {
    const clients = this.#names.size
    this.#times = this.#requests.byClient(clients)
    for (const [name, window] of Object.entries(windows)) {
      const peaks = Float64Array.from(this.#times, (each) => mostInWindow(each, window))
      this.#peaks[name] = peaks
      this.#busiest[name] = Uint32Array.from(peaks.keys()).sort((a, b) => peaks[b] - peaks[a])
    }
  }

  #window(name, bounds) {
    const peaks = this.#peaks[name]
    const most = peaks[this.#busiest[name][0]] ?? 1
    const window = windows[name]
    const fits = (policy, limit) => this.#fits(name, policy, limit, bounds)
    const limit = least(1, 2 * most, (limit) => fits(slidingWindow({ limit, window }), limit))
    const burst = least(1, most, (burst) => fits(tokenBucket({ limit, window, burst }), Math.min(burst, limit)))
    const played = this.#play(name, slidingWindow({ limit, window }), limit)
    return {
      window: name,
      quantiles: quantiles(peaks),
      suggested: { policy: `${limit}/${name}`, limit, burst, ...played },
    }
  }

  /** The cells of the grid, limits of the series 1, 2, 5, 10 by every window, with the requests that each has to play. */
  #workOfGrid() {
    const peaks = this.#peaks['1d']
    const most = peaks[this.#busiest['1d'][0]] ?? 1
    return series(most).flatMap((limit) =>
      Object.keys(windows).map((name) => ({ name, limit, requests: this.#requestsAbove(name, limit) })),
    )
  }

  #requestsAbove(name, limit) {
    let requests = 0
    for (const client of this.#busiest[name]) {
      if (this.#peaks[name][client] <= limit / 2) break
      requests += this.#times[client].length
    }
    return requests
  }

  /** True if the limit refuses few enough clients and requests. It ends as soon as it does not. */
  #fits(name, policy, limit, { affect, refuse }) {
    let clients = affect * this.#names.size
    let requests = refuse * this.#requests.length
    for (const { refused } of this.#refusals(name, policy, limit)) {
      if (refused === 0) continue
      clients--
      requests -= refused
      if (clients < 0 || requests < 0) return false
    }
    return true
  }

  #play(name, policy, limit, onClient = (_client, _refused) => {}) {
    let [refused, affected] = [0, 0]
    for (const each of this.#refusals(name, policy, limit)) {
      if (each.refused === 0) continue
      refused += each.refused
      affected++
      onClient(each.client, each.refused)
    }
    return {
      refused,
      refusedShare: share(refused, this.#requests.length),
      clientsAffected: affected,
      clientsAffectedShare: share(affected, this.#names.size),
    }
  }

  /**
   * Replays the requests of the clients that the limit could refuse, the busiest client first. A client that never has more than half the
   * limit in any window is never refused: its two halves of a sliding window, or its bucket, are never full.
   */
  *#refusals(name, policy, limit) {
    for (const client of this.#busiest[name]) {
      if (this.#peaks[name][client] <= limit / 2) return
      yield { client, refused: refusalsOf(policy.algorithm, this.#times[client]) }
    }
  }

  /** One policy to begin with: a round limit for one of the windows, and whom it would have refused. */
  #verdict(rows, span) {
    const { window, suggested } = verdictWindow(rows, span, windows)
    const limit = roundLimit(suggested.limit)
    const hit = []
    const played = this.#play(window, slidingWindow({ limit, window: windows[window] }), limit, (client, refused) =>
      hit.push({ client, refused }),
    )
    const clients = hit
      .sort((a, b) => b.refused - a.refused)
      .slice(0, named)
      .map(({ client, refused }) => ({
        name: this.#names.nameOf(client),
        requests: this.#times[client].length,
        refused,
        looksLike: this.#profiles.guess(client, this.#cautions.agentsOf(client)),
      }))
    return { policy: `${limit}/${window}`, limit, window, ...played, clients }
  }
}

/**
 * How many requests of one client the limit refuses. A store does the same: it asks the algorithm for the wait, and takes a unit if there is
 * none. Millions of requests are tried for each limit, so this leaves out the store, the headers and the report of a decision.
 * @param {import('headgate/store').Algorithm} algorithm
 * @param {Float64Array} times of the requests, in order
 */
function refusalsOf(algorithm, times) {
  const state = new Float64Array(algorithm.slots) // all zeros: a new key
  let refused = 0
  for (let n = 0; n < times.length; n++) {
    const now = Math.round(times[n] * 1000)
    if (algorithm.wait(state, 0, now, 1) === 0) algorithm.take(state, 0, now, 1, 0)
    else refused++
  }
  return refused
}

/** The least whole number from `low` to `high` that fits, if every larger one fits too. */
function least(low, high, fits) {
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (fits(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function series(most) {
  const limits = []
  for (let power = 1; ; power *= 10) {
    for (const digit of [1, 2, 5]) {
      limits.push(digit * power)
      if (digit * power >= most) return limits
    }
  }
}
