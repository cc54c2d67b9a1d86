import { getOrInsert, invalidOption, RecentMap } from '../common/index.ts'

/** A local date, as whole days since 1970-01-01 in the Gregorian calendar. The years from 1 to 9999 are exact. */
export type Day = number

const millisecondsOfDay = 86_400_000

/** The time zones in use. 500 is enough for each zone of the IANA database. A zone takes about 45 KB, and 0.3 ms to make. */
const zones = new RecentMap<string, TimeZone>(500)

/** How many midnights a zone remembers: more than the days of ten years, because each customer's anchor may be another day. */
const mostOffsets = 4096

/** Month, day, year, hour, minute and second, in this order. */
const numbers = /\d+/g

/**
 * Computes when the dates of a time zone begin. Every runtime has the time zones of `Intl`. But `Intl` only converts a moment to local
 * time, so this class searches for the first moment of a date.
 */
export class TimeZone {
  /** The name of the zone, as the application wrote the name. */
  readonly id: string
  /** Converts a moment to local time. Undefined for UTC. */
  readonly #clocks: Intl.DateTimeFormat | undefined
  /** The offsets at midnights of UTC. Consecutive windows need the same offsets, and so do customers with the same anchor. */
  readonly #offsets = new Map<Day, number>()

  private constructor(id: string, option: string) {
    this.id = id
    this.#clocks = id === 'UTC' ? undefined : clocksOf(id, option)
  }

  /**
   * The zone of this name.
   * @param id a name of the IANA database, or another name that `Intl` of this runtime accepts
   * @param option the name of the option, for errors
   * @throws HeadgateError `HEADGATE_CALENDAR` for a name that the runtime does not know
   */
  static of(id: string, option = 'timeZone'): TimeZone {
    return getOrInsert(zones, id, () => new TimeZone(id, option))
  }

  /** The local date at a moment. @param ms milliseconds since the epoch */
  dateAt(ms: number): Day {
    return Math.floor((ms + this.#offsetAt(ms)) / millisecondsOfDay)
  }

  /**
   * The first moment of a local date, in milliseconds since the epoch. If the clocks skip midnight, the result is the first moment after
   * the gap. If midnight happens twice, the result is the first midnight. If the date does not exist, the result is the first moment of
   * the next date.
   */
  startOf(day: Day): number {
    const midnight = day * millisecondsOfDay
    const before = this.#offsetOn(day - 1)
    const after = this.#offsetOn(day + 1)
    let changed = midnight - before
    if (before === after || this.#offsetAt(changed) === before) return changed
    // The clocks change near this midnight. Midnight comes after the change, or the change skips midnight.
    let unchanged = midnight - after
    if (this.#offsetAt(unchanged) === after) return unchanged
    while (changed - unchanged > 1000) {
      const middle = unchanged + Math.floor((changed - unchanged) / 2000) * 1000
      if (this.#offsetAt(middle) === after) changed = middle
      else unchanged = middle
    }
    return changed
  }

  /** How far local time is ahead of UTC, in milliseconds. Local clocks change at most once in two days. */
  #offsetAt(ms: number): number {
    const day = Math.floor(ms / millisecondsOfDay)
    const offset = this.#offsetOn(day)
    return offset === this.#offsetOn(day + 1) ? offset : this.#readOffset(ms)
  }

  /** The offset from UTC at midnight UTC of this date. */
  #offsetOn(day: Day): number {
    if (this.#clocks === undefined) return 0
    return this.#offsets.get(day) ?? this.#keepOffset(day)
  }

  #keepOffset(day: Day): number {
    if (this.#offsets.size >= mostOffsets) this.#offsets.clear()
    const offset = this.#readOffset(day * millisecondsOfDay)
    this.#offsets.set(day, offset)
    return offset
  }

  #readOffset(ms: number): number {
    const moment = Math.floor(ms / 1000) * 1000
    const [month, day, year, hour, minute, second] = this.#clocks!.format(moment).match(numbers)!.map(Number)
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - moment
  }
}

function clocksOf(id: string, option: string): Intl.DateTimeFormat {
  const numeric = 'numeric'
  const fields = {
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  } as const
  try {
    // If `timeZone` is undefined, Intl uses the zone of this machine.
    return new Intl.DateTimeFormat('en-US', { ...fields, hourCycle: 'h23', timeZone: typeof id === 'string' ? id : '' })
  } catch {
    const fix = "Write a name of the IANA time zone database, such as timeZone: 'Europe/Berlin'."
    throw invalidOption(option, 'a time zone that this runtime knows', id, fix, 'HEADGATE_CALENDAR')
  }
}
