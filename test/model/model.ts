/*
 * What the README's definitions say, in exact integers of any size, with no code of the project.
 *
 * A model keeps every call that was ever admitted with the time at which it counts, and computes each answer from the whole
 * list. A settlement changes the units of its call in that list, as if it had cost so much from the start.
 */

/** Units that count from a time on: admitted calls, charges (at their time), and refunds (below 0). */
export interface Entry {
  time: number
  units: bigint
}

export interface Rules {
  /** The time until that cost is admitted at `now`, first come first served. */
  wait(entries: readonly Entry[], now: number, cost: number): number
  remaining(entries: readonly Entry[], now: number): number
  used(entries: readonly Entry[], now: number): number
  /** The time until the key is like a new one. */
  reset(entries: readonly Entry[], now: number): number
  /** True if a call can be booked ahead. */
  readonly promises: boolean
  /** True if a debt shrinks by the limit of the plan. */
  readonly worksOffDebt?: boolean
  /** True if reservations of a key that is like new again are forgotten. */
  readonly forgets: boolean
  /** How far all times move if the clock goes far back, from the last commit to `at`. Default: by that difference. */
  shift?(last: number, at: number): number
  /** The time of an entry whose call is admitted after that wait. */
  entryTime?(entries: readonly Entry[], now: number, wait: number): number
}

const most = (a: bigint, b: bigint) => (a > b ? a : b)
const ceilDiv = (a: bigint, b: bigint) => (a + b - 1n) / b
const ordered = (entries: readonly Entry[]) =>
  entries.map((entry, n) => ({ ...entry, n })).sort((a, b) => a.time - b.time || a.n - b.n)

/** What is left after refunds: each takes from the newest units that count at its time. */
function net(entries: readonly Entry[], counts: (entry: Entry, at: number) => boolean): readonly Entry[] {
  const left: Entry[] = []
  for (const { time, units } of ordered(entries)) {
    if (units > 0n) left.push({ time, units })
    let back = -units
    for (let n = left.length - 1; n >= 0 && back > 0n; n--) {
      const entry = left[n] as Entry
      if (!counts(entry, time)) break
      const taken = entry.units < back ? entry.units : back
      entry.units -= taken
      back -= taken
    }
  }
  return left
}

/** Windows that are aligned to the clock move by whole ones. */
const byMultiples = (of: number) => (last: number, at: number) => last - (last % of) - (at - (at % of))

/** The last time at which a booked call acts; `now` if none is ahead. */
const behind = (entries: readonly Entry[], now: number) =>
  entries.reduce((last, { time, units }) => (units > 0n ? Math.max(last, time) : last), now)

/**
 * A bucket that holds `burst` units and drains `limit` of them in `window` microseconds. The level is counted in parts: a
 * unit has `window` of them, so a microsecond drains `limit`.
 */
export function bucket(limit: number, window: number, burst: number): Rules {
  const [rate, weight, capacity] = [BigInt(limit), BigInt(window), BigInt(burst) * BigInt(window)]
  function level(entries: readonly Entry[], at: number): bigint {
    let parts = 0n
    let last = 0
    for (const { time, units } of ordered(entries)) {
      if (time > at) break
      parts = most(0n, parts - BigInt(time - last) * rate)
      parts = most(0n, parts + units * weight)
      last = time
    }
    return most(0n, parts - BigInt(at - last) * rate)
  }
  return {
    promises: true,
    forgets: true,
    wait(entries, now, cost) {
      if (cost > burst) return Infinity
      const from = behind(entries, now)
      const excess = level(entries, from) + BigInt(cost) * weight - capacity
      return from - now + (excess > 0n ? Number(ceilDiv(excess, rate)) : 0)
    },
    remaining(entries, now) {
      if (behind(entries, now) > now) return 0
      return Number(most(0n, capacity - level(entries, now)) / weight)
    },
    used(entries, now) {
      const ahead = entries.reduce((sum, { time, units }) => (time > now ? sum + units : sum), 0n)
      return Number(ceilDiv(level(entries, now) + ahead * weight, weight))
    },
    reset(entries, now) {
      const from = behind(entries, now)
      return from - now + Number(ceilDiv(level(entries, from), rate))
    },
  }
}

/**
 * A counter from which `limit` is taken at the end of each interval of `window`. Entries are at starts of intervals.
 * @param clears true if every interval ends with all units, as without debt
 */
export function intervals(limit: number, window: number, burst: number, aligned: boolean, clears = false): Rules {
  const ending = clears ? 1n << 60n : BigInt(limit)
  function spent(entries: readonly Entry[], start: number): bigint {
    let units = 0n
    let last = 0
    for (const entry of ordered(entries)) {
      if (entry.time > start) break
      if (last > 0) units = most(0n, units - BigInt(Math.floor((entry.time - last) / window)) * ending)
      units = most(0n, units + entry.units)
      last = entry.time
    }
    return last === 0 ? 0n : most(0n, units - BigInt(Math.floor((start - last) / window)) * ending)
  }
  /** The start of the interval that holds `now`: intervals go on from any entry while units are spent or booked. */
  function startOf(entries: readonly Entry[], now: number): number {
    if (aligned) return now - (now % window)
    const first = entries.reduce((earliest, { time }) => Math.min(earliest, time), Infinity)
    if (first === Infinity) return now
    let start = now
    for (const { time } of entries) if (time <= now) start = now - ((now - time) % window)
    if (start === now && first > now) start = first - Math.ceil((first - now) / window) * window
    return start
  }
  /** Where no interval is open, the next call opens one. */
  function open(entries: readonly Entry[], now: number): number {
    const start = startOf(entries, now)
    if (aligned) return start
    return spent(entries, start) === 0n && behind(entries, now) === now ? now : start
  }
  return {
    promises: true,
    forgets: true,
    worksOffDebt: burst === limit,
    ...(aligned && { shift: byMultiples(window) }),
    entryTime: (entries, now, wait) => (wait > 0 ? now + wait : open(entries, now)),
    wait(entries, now, cost) {
      if (cost > burst) return Infinity
      const start = open(entries, now)
      const from = behind(entries, start)
      const short = spent(entries, from) + BigInt(cost) - BigInt(burst)
      if (short <= 0n) return Math.max(0, from === start ? 0 : from - now)
      return from + Number(ceilDiv(short, BigInt(limit))) * window - now
    },
    remaining(entries, now) {
      const start = open(entries, now)
      if (behind(entries, start) > start) return 0
      return Number(most(0n, BigInt(burst) - spent(entries, start)))
    },
    used(entries, now) {
      const start = open(entries, now)
      const ahead = entries.reduce((sum, { time, units }) => (time > start ? sum + units : sum), 0n)
      return Number(spent(entries, start) + ahead)
    },
    reset(entries, now) {
      const start = open(entries, now)
      const from = behind(entries, start)
      const units = spent(entries, from)
      return units === 0n ? 0 : from + Number(ceilDiv(units, BigInt(limit))) * window - now
    },
  }
}

/** The units of the clock window before fade at a steady rate. */
export function slidingCounter(limit: number, window: number): Rules {
  const sum = (entries: readonly Entry[], index: number) =>
    entries.reduce((units, entry) => (Math.floor(entry.time / window) === index ? units + entry.units : units), 0n)
  /** Rounded up to whole units. */
  function estimate(entries: readonly Entry[], at: number): bigint {
    const index = Math.floor(at / window)
    const left = BigInt((index + 1) * window - at)
    return sum(entries, index) + ceilDiv(sum(entries, index - 1) * left, BigInt(window))
  }
  return {
    promises: false,
    forgets: false,
    shift: byMultiples(window),
    wait(entries, now, cost) {
      if (cost > limit) return Infinity
      const fits = (at: number) => estimate(entries, at) + BigInt(cost) <= BigInt(limit)
      if (fits(now)) return 0
      // The estimate falls while no call comes: a binary search finds when it is low enough.
      let [low, high] = [now, (Math.floor(now / window) + 2) * window]
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2)
        if (fits(middle)) high = middle
        else low = middle
      }
      return high - now
    },
    remaining: (entries, now) => Number(most(0n, BigInt(limit) - estimate(entries, now))),
    used: (entries, now) => Number(estimate(entries, now)),
    reset(entries, now) {
      const index = Math.floor(now / window)
      if (sum(entries, index) > 0n) return (index + 2) * window - now
      return sum(entries, index - 1) > 0n ? (index + 1) * window - now : 0
    },
  }
}

/** A segment counts in full until it has left the window entirely. */
export function segments(limit: number, window: number, count: number): Rules {
  const width = Math.ceil(window / count)
  const counts = ({ time }: Entry, at: number) => Math.floor(time / width) >= Math.floor(at / width) - count
  const live = (entries: readonly Entry[], at: number) =>
    net(entries, counts).filter((entry) => entry.units > 0n && counts(entry, at))
  const used = (entries: readonly Entry[], at: number) => live(entries, at).reduce((sum, { units }) => sum + units, 0n)
  return {
    promises: false,
    forgets: false,
    shift: byMultiples(width),
    wait(entries, now, cost) {
      if (cost > limit) return Infinity
      for (let at = now; ; at = (Math.floor(at / width) + 1) * width)
        if (used(entries, at) + BigInt(cost) <= BigInt(limit)) return at - now
    },
    remaining: (entries, now) => Number(most(0n, BigInt(limit) - used(entries, now))),
    used: (entries, now) => Number(used(entries, now)),
    reset(entries, now) {
      const newest = live(entries, now).reduce((last, { time }) => Math.max(last, time), -1)
      return newest < 0 ? 0 : (Math.floor(newest / width) + count + 1) * width - now
    },
  }
}

/** Fewer than `limit` units in every window; an entry leaves a whole window after its time. Also units in flight. */
export function log(limit: number, window: number, promises: boolean): Rules {
  const counts = ({ time }: Entry, at: number) => time > at - window
  const live = (entries: readonly Entry[], at: number) =>
    net(entries, counts).filter((entry) => entry.units > 0n && counts(entry, at))
  const used = (entries: readonly Entry[], at: number) => live(entries, at).reduce((sum, { units }) => sum + units, 0n)
  return {
    promises,
    forgets: false,
    wait(entries, now, cost) {
      if (cost > limit) return Infinity
      const from = behind(entries, now)
      const leaves = live(entries, from).map(({ time }) => time + window)
      for (const at of [from, ...leaves.sort((a, b) => a - b)]) {
        if (at >= from && used(entries, at) + BigInt(cost) <= BigInt(limit)) return at - now
      }
      throw new Error('an empty log admits the cost')
    },
    remaining(entries, now) {
      return behind(entries, now) > now ? 0 : Number(most(0n, BigInt(limit) - used(entries, now)))
    },
    used: (entries, now) => Number(used(entries, now)),
    reset(entries, now) {
      const newest = live(entries, now).reduce((last, { time }) => Math.max(last, time), -1)
      return newest < 0 ? 0 : newest + window - now
    },
  }
}
