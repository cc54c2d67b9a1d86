/*
 * How much of what streams give back is lost, because a bucket keeps only a few steps and bookings.
 *
 * Each of many streams reserves an estimate, runs for some time, is settled at its true cost, and starts again. After each
 * settlement the time to full quota falls. An exact model, which replays every call, tells how far it should have fallen.
 */
import { memoryStore, RateLimiter, type Reservation, tokenBucket } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { type Random, seededRandom } from './seeded-random.ts'

/** How the streams of one run behave. */
export interface Regime {
  /** What the streams use, as a share of the limit: 0.9 leaves a tenth unused. */
  readonly load: number
  /** The mean of what a stream uses, as a share of its estimate. */
  readonly used: number
  /** The size of the bucket, as a share of the estimates of all streams. */
  readonly burst: number
  /** How much the times and the estimates differ from stream to stream. */
  readonly spread: 'even' | 'wide'
  /** True if the streams pause in every other minute, so that the level goes up and down. */
  readonly pauses?: boolean
  /** The longest wait for a reserved time, in milliseconds. Without it, a refused stream asks again. */
  readonly maxWait?: number
}

/** Units that were given back, counted in milliseconds of the time to full quota. */
export interface GivenBack {
  /** What the exact model gives back. */
  readonly due: number
  /** What was not given back of it. What one settlement could not give back, a later one may. */
  readonly lost: number
}

const streams = 64
const holdMean = 10_000
/** One unit for each microsecond, so that every level is a whole number of units. */
const window = 60_000
const perMs = 1000
const start = 1_767_225_600_000

/** Units that pour into the bucket at a time. Times and units are milliseconds: in each, the units of one drain. */
interface Entry {
  time: number
  units: number
}

/** When the last units have drained, by a replay of every call. */
function emptyAt(entries: readonly Entry[], from = 0): number {
  return entries.reduce((empty, { time, units }) => (units > 0 ? Math.max(empty, time) + units : empty), from)
}

interface Stream {
  next: number
  open: { reservation: Reservation; entry: Entry; cost: number } | undefined
}

/** Between half and one and a half times the mean, or over three decades. */
function around(mean: number, spread: Regime['spread'], random: Random): number {
  const share = random(10_001) / 10_000
  const factor = spread === 'even' ? 0.5 + share : 1000 ** share / 144.6
  return Math.max(1, Math.round(mean * factor))
}

class Run {
  readonly #regime: Regime
  readonly #random: Random
  readonly #estimate: number
  readonly #burst: number
  readonly #clock = new ManualClock(start)
  readonly #limiter: RateLimiter
  readonly #streams: Stream[]
  #entries: Entry[] = []
  #due = 0
  #lost = 0

  constructor(regime: Regime, seed: number) {
    this.#regime = regime
    this.#random = seededRandom(seed)
    // In milliseconds of drain, as all costs here.
    this.#estimate = (regime.load * holdMean) / (streams * regime.used)
    this.#burst = Math.ceil(regime.burst * streams * this.#estimate)
    const policies = tokenBucket({ limit: window * perMs, window, burst: this.#burst * perMs })
    this.#limiter = new RateLimiter({ policies, store: memoryStore({ clock: this.#clock.now }) })
    this.#streams = Array.from({ length: streams }, () => ({ next: start + this.#random(holdMean), open: undefined }))
  }

  async play(settlements: number): Promise<GivenBack> {
    let now = start
    for (let done = 0; done < settlements; ) {
      const stream = this.#streams.reduce((first, other) => (other.next < first.next ? other : first))
      this.#clock.advance(stream.next - now)
      now = stream.next
      if (stream.open === undefined) await this.#reserve(stream, now)
      else {
        await this.#settle(stream, now)
        done++
      }
    }
    return { due: this.#due, lost: this.#lost }
  }

  async #reserve(stream: Stream, now: number): Promise<void> {
    const { spread, maxWait = 0 } = this.#regime
    const cost = Math.min(this.#burst, around(this.#estimate, spread, this.#random))
    const reservation = await this.#limiter.reserve('k', { cost: cost * perMs, maxWait })
    if (!reservation.allowed) {
      stream.next = now + Math.min(holdMean, reservation.decision.retryAfter) + this.#random(10)
      return
    }
    const entry = { time: now + reservation.wait, units: cost }
    const before = this.#entries.findLastIndex(({ time }) => time <= entry.time)
    this.#entries.splice(before + 1, 0, entry)
    stream.open = { reservation, entry, cost }
    const hold = around(holdMean, spread, this.#random)
    // A client that waits for its turn may leave before it comes.
    stream.next =
      now + (reservation.wait > 0 && this.#random(4) === 0 ? this.#random(reservation.wait) : reservation.wait + hold)
  }

  async #settle(stream: Stream, now: number): Promise<void> {
    const { reservation, entry, cost } = stream.open as NonNullable<Stream['open']>
    const actual = now < entry.time || this.#random(5) === 0 ? 0 : this.#actual(cost)
    const before = await this.#resets(now)
    await reservation.settle(actual * perMs)
    entry.units = actual
    const after = await this.#resets(now)
    if (after.seen < after.exact) throw new Error(`${after.exact - after.seen} ms too much were given back`)
    this.#due += before.exact - after.exact
    this.#lost += before.exact - after.exact - (before.seen - after.seen)
    stream.open = undefined
    const pause = this.#regime.pauses === true && Math.floor(now / window) % 2 === 0 ? 4 * holdMean : 1
    stream.next = now + 1 + this.#random(pause)
    this.#forget()
  }

  #actual(cost: number): number {
    const { used } = this.#regime
    const share = ((used < 0.5 ? 2 * used : 1) * this.#random(10_001)) / 10_000
    return Math.round(cost * (used < 0.5 ? share : Math.min(1, 2 * used - 1 + share * (2 - 2 * used))))
  }

  async #resets(now: number): Promise<{ seen: number; exact: number }> {
    const { resetAfter } = await this.#limiter.peek('k')
    return { seen: resetAfter, exact: Math.max(0, emptyAt(this.#entries) - now) }
  }

  /** What came before the first open reservation becomes one entry: that path no longer changes. */
  #forget(): void {
    const from = Math.min(...this.#streams.map(({ open }) => open?.entry.time ?? Infinity))
    const first = this.#entries.findIndex(({ time }) => time >= from)
    if (first < streams) return
    const old = this.#entries.splice(0, first)
    this.#entries.unshift({ time: from, units: Math.max(0, emptyAt(old) - from) })
  }
}

/** The units that 64 streams of this regime give back in so many settlements. */
export function givenBack(regime: Regime, settlements: number, seed: number): Promise<GivenBack> {
  return new Run(regime, seed).play(settlements)
}
