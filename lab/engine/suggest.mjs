import { slidingWindow, tokenBucket } from 'headgate'
import { Cautions } from './cautions.mjs'
import { mostInWindow } from './most-in-window.mjs'
import { Names } from './names.mjs'
import { quantiles } from './quantiles.mjs'
import { share } from './replay.mjs'
import { RequestColumns } from './request-columns.mjs'
import { trialOf, VirtualClock } from './trial.mjs'

const windows = { '1s': 1000, '10s': 10_000, '1m': 60_000, '15m': 900_000, '1h': 3_600_000, '1d': 86_400_000 }

/** Finds limits from the requests of a log. It keeps 12 bytes for each request, and replays them for every limit. */
export class Suggestion {
  #names = new Names()
  #requests = new RequestColumns()
  #cautions = new Cautions()
  #peaks = {}

  /** The records must come in the order of their times. */
  request(client, record) {
    const number = this.#names.numberOf(client)
    this.#requests.add(number, record.time)
    this.#cautions.request(number, record)
  }

  /** @param affect the largest share of clients that a limit may refuse anything, from 0 to 1 */
  result(affect) {
    const requests = this.#requests
    const times = requests.byClient(this.#names.size)
    for (const [name, window] of Object.entries(windows))
      this.#peaks[name] = times.map((each) => mostInWindow(each, window))
    const from = requests.time(0)
    const to = requests.time(requests.length - 1)
    const rows = Object.keys(windows).map((name) => this.#window(name, affect))
    const cautions = this.#cautions.list(to - from, Object.values(windows))
    return {
      requests: requests.length,
      clients: this.#names.size,
      from,
      to,
      affect,
      windows: rows,
      grid: this.#grid(),
      cautions,
    }
  }

  #window(name, affect) {
    const peaks = this.#peaks[name]
    const most = largest(peaks)
    const fits = (play) => play.clientsAffected <= affect * this.#names.size
    const limit = least(1, 2 * most, (limit) =>
      fits(this.#play(name, slidingWindow({ limit, window: windows[name] }), limit)),
    )
    const bucket = (burst) => tokenBucket({ limit, window: windows[name], burst })
    const burst = least(1, most, (burst) => fits(this.#play(name, bucket(burst), Math.min(burst, limit))))
    const played = this.#play(name, slidingWindow({ limit, window: windows[name] }), limit)
    return {
      window: name,
      quantiles: quantiles(peaks),
      suggested: { policy: `${limit}/${name}`, limit, burst, ...played },
    }
  }

  /** The refused requests, and the clients with one, for limits of the series 1, 2, 5, 10 and every window. */
  #grid() {
    const most = largest(this.#peaks['1d'])
    return series(most).map((limit) => ({
      limit,
      windows: Object.entries(windows).map(([name, window]) => ({
        window: name,
        ...this.#play(name, slidingWindow({ limit, window }), limit),
      })),
    }))
  }

  /**
   * Replays the requests of the clients that the limit could refuse. A client that never has more than half the limit
   * in any window is never refused: its two halves of a sliding window, or its bucket, are never full.
   */
  #play(name, policy, limit) {
    const peaks = this.#peaks[name]
    const requests = this.#requests
    const clock = new VirtualClock()
    const trial = trialOf(policy, clock)
    const affected = new Set()
    let refused = 0
    for (let n = 0; n < requests.length; n++) {
      const client = requests.client(n)
      if (peaks[client] <= limit / 2) continue
      clock.set(requests.time(n))
      if (trial.consumeSync(String(client)).allowed) continue
      refused++
      affected.add(client)
    }
    const clients = this.#names.size
    return {
      refused,
      refusedShare: share(refused, requests.length),
      clientsAffected: affected.size,
      clientsAffectedShare: share(affected.size, clients),
    }
  }
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

/** The largest number, at least 1. `Math.max` fails with a million arguments. */
function largest(numbers) {
  return numbers.reduce((a, b) => Math.max(a, b), 1)
}
