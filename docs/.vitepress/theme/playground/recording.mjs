import { Run } from './run.mjs'

/** All decisions of a policy about a workload, in the order of time, in columns. */
export class Recording {
  times = []
  clients = []
  costs = []
  allowed = []
  remaining = []
  retryAfter = []
  /** How many units of its key were admitted in the window that ends with the request. */
  inWindow = []
  /** How many of the requests up to this one were admitted. */
  admitted = []
  /** The most units of one key in any window, up to this request. */
  most = []
  #make
  #played
  #position = 0

  /**
   * @param {import('headgate').Policy} policy
   * @param {() => object} workload makes the workload, the same one each time
   * @param {{ shared: boolean }} options see `Run`
   */
  constructor(policy, workload, options) {
    this.limit = policy.limit
    this.window = policy.window
    this.#make = () => new Run(policy, workload(), options)
    const run = this.#make()
    const windows = new Map()
    while (run.nextTime !== undefined) this.#add(run.step(), windows)
  }

  #add({ time, client, cost, key, decision }, windows) {
    const { allowed, remaining, retryAfter } = decision
    const latest = this.admitted.length - 1
    const units = allowed ? unitsInWindow(windows, key, { time, cost, window: this.window }) : 0
    this.times.push(time)
    this.clients.push(client)
    this.costs.push(cost)
    this.allowed.push(allowed)
    this.remaining.push(remaining)
    this.retryAfter.push(retryAfter)
    this.inWindow.push(units)
    this.admitted.push((this.admitted[latest] ?? 0) + (allowed ? 1 : 0))
    this.most.push(Math.max(this.most[latest] ?? 0, units))
  }

  /** How many requests had come at a time. */
  countAt(time) {
    let [low, high] = [0, this.times.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.times[middle] <= time) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The numbers after the first `count` requests. */
  numbersAt(count) {
    const n = count - 1
    const admitted = this.admitted[n] ?? 0
    return { admitted, refused: count - admitted, most: this.most[n] ?? 0, limit: this.limit }
  }

  /** What was decided about a request. */
  decision(n) {
    if (n < 0 || n >= this.times.length) return undefined
    const pick = (column) => column[n]
    return {
      number: n + 1,
      time: pick(this.times),
      client: pick(this.clients),
      cost: pick(this.costs),
      allowed: pick(this.allowed),
      remaining: pick(this.remaining),
      retryAfter: pick(this.retryAfter),
    }
  }

  /** The run after the first `count` requests: it is played on, or from the beginning if that was earlier. */
  runAfter(count) {
    if (this.#played === undefined || count < this.#position) {
      this.#played = this.#make()
      this.#position = 0
    }
    for (; this.#position < count; this.#position++) this.#played.step()
    return this.#played
  }

  /** What `inspect` said just after a request. */
  async wordsAfter(n) {
    const run = this.#make()
    for (let k = 0; k <= n; k++) run.step()
    return (await run.inspect(this.times[n])).words
  }
}

/** Adds an admitted request to those of its key, and returns the units of the window that it ends. */
function unitsInWindow(windows, key, { time, cost, window }) {
  const held = windows.get(key) ?? { times: [], costs: [], first: 0, units: 0 }
  windows.set(key, held)
  held.times.push(time)
  held.costs.push(cost)
  held.units += cost
  while (held.times[held.first] <= time - window) held.units -= held.costs[held.first++]
  return held.units
}
