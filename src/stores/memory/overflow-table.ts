/*
 * The overflow table stores the keys that the key table has evicted, in a fixed number of places.
 *
 * Each place has the states of one key. A hash of the key selects two buckets of places, and a second hash of 32 bits
 * (the tag) identifies the key:
 *
 *     bucket     own places                      cell       each key may be in either of its two buckets
 *       17     [ key ] [ key ] [     ] ...     [ merged ]
 *       42     [ key ] [     ] [     ] ...     [        ]
 *
 * A key with a place for itself is decided as if the key had never been evicted. When both buckets of a key are full, the key with most
 * quota left in these buckets loses its place. Under one plan (set of policies), the states of this key are merged into the cells of its
 * two buckets (see shared-cells.ts), so no key is ever admitted too often. Under several plans, states have no common layout and cannot be
 * merged, so the key is forgotten. A place whose key has its full quota again is cleared when later keys come.
 *
 * The hash has a secret seed, so an attacker cannot choose keys that hash to the same bucket.
 */

import type { Policy } from '../../algorithms/index.ts'
import { KeyHash, type Seed } from './key-hash.ts'
import { SharedCells } from './shared-cells.ts'
import { quotaLeft, type State } from './state.ts'
import { StateRows } from './state-rows.ts'

/** How many places a bucket has, each for the states of one key. A bucket also has one cell that several keys share. */
const width = 7
/**
 * How many places (for one key) and cells (for several keys) the table has for each key of `maxKeys`. Even if nine in ten keys are evicted,
 * almost every evicted key finds a free place.
 */
const placesPerKey = 12
/** How many places (for one key) and cells (for several keys) are checked for each new key of the key table. */
const swept = 2

/**
 * Where an evicted key is: the number of its place, or `cells` if the key may be in two shared cells, or `nothing` if the overflow table
 * does not have the key.
 */
export type OverflowLocation = number
export const nothing = -1
export const cells = -2

export class OverflowTable {
  #places: StateRows
  /** The cells that several keys share; undefined if the limiter has several plans (sets of policies). */
  #cells: SharedCells | undefined
  readonly #buckets: number
  /** The tag of the key in each place. 0 marks a free place. */
  readonly #tags: Uint32Array
  readonly #hash: KeyHash
  /** The two buckets of the key that was hashed last: `#one` and `#other`. */
  #one = 0
  #other = 0
  #hand = 0
  /** How many keys share no place with other keys now. */
  remembered = 0
  /** How many keys were merged into cells that several keys share. */
  merged = 0
  /** How many keys were forgotten because they had no place. */
  forgotten = 0

  /** @param shared true if several plans (sets of policies) share the states; the table then has no shared cells */
  constructor(policies: readonly Policy[], shared: boolean, maxKeys: number, seed: Seed) {
    this.#places = new StateRows(policies, true)
    if (shared) this.#places.share(0)
    this.#buckets = Math.ceil(Math.min(placesPerKey * maxKeys, this.#places.maxRows) / (width + 1))
    this.#tags = new Uint32Array(this.#buckets * width)
    this.#hash = new KeyHash(seed)
    this.#places.resize(this.#tags.length)
    this.#cells = shared ? undefined : new SharedCells(policies, this.#buckets)
  }

  find(key: string): OverflowLocation {
    if (this.remembered === 0 && !this.#cells?.used) return nothing
    this.#locate(key)
    const place = this.#placeIn(this.#one)
    const own = place === nothing ? this.#placeIn(this.#other) : place
    if (own !== nothing) return own
    return this.#cells?.has(this.#one, this.#other) ? cells : nothing
  }

  /** The states of the key for which `find` was called last. @param found the result of that call */
  read(found: OverflowLocation, now: number): readonly State[] {
    if (found !== cells) return this.#places.read(found)
    return (this.#cells as SharedCells).leastUsed(this.#one, this.#other, now)
  }

  /** Frees the place that `find` returned. Does nothing if `find` returned `cells` or `nothing`. */
  release(found: OverflowLocation): void {
    if (found >= 0) this.#free(found)
  }

  /** Stores the states of a key that has no place yet. */
  remember(key: string, states: readonly State[], now: number): void {
    this.#locate(key)
    const { tag } = this.#hash
    let place = this.#freePlace()
    if (place === nothing || !this.#places.fits(states)) place = this.#vacate(quotaLeft(states, now), now)
    if (place === nothing || !this.#places.fits(states)) {
      this.#giveUp(states, this.#one, tag, now)
      return
    }
    this.#tags[place] = tag
    this.remembered++
    this.#places.copy(states, place, now)
  }

  /** Checks the next few places (for one key) and cells (for several keys), and clears each one whose keys have their full quota again. */
  sweep(now: number): void {
    const all = this.#tags.length + (this.#cells === undefined ? 0 : this.#buckets)
    for (let looked = 0; looked < swept; looked++) {
      this.#hand = (this.#hand + 1) % all
      const cell = this.#hand - this.#tags.length
      if (cell >= 0) this.#cells?.prune(cell, now)
      else if (this.#tags[this.#hand] !== 0 && this.#quotaLeft(this.#hand, now) === 1) this.#free(this.#hand)
    }
  }

  /** Changes the layout, so that several plans (sets of policies) can share the states. Keys in shared cells are forgotten. */
  share(now: number): void {
    this.#places.share(now)
    this.#cells = undefined
  }

  retune(policies: readonly Policy[], now: number): void {
    this.#places = this.#places.retuned(policies, now)
    this.#cells?.retune(policies, now)
  }

  #locate(key: string): void {
    this.#hash.read(key)
    this.#one = this.#hash.place % this.#buckets
    this.#other = this.#pairOf(this.#one, this.#hash.tag)
  }

  /** The second bucket of a key. The numbers of the key's two buckets add up to the key's tag, modulo the count of buckets. */
  #pairOf(bucket: number, tag: number): number {
    return ((tag % this.#buckets) - bucket + this.#buckets) % this.#buckets
  }

  #placeIn(bucket: number): OverflowLocation {
    const { tag } = this.#hash
    for (let place = bucket * width; place < (bucket + 1) * width; place++) if (this.#tags[place] === tag) return place
    return nothing
  }

  /** A free place in the bucket with more free places; `nothing` if both buckets are full. */
  #freePlace(): OverflowLocation {
    let found = nothing
    let most = 0
    for (const bucket of [this.#one, this.#other]) {
      let free = 0
      let last = nothing
      for (let place = bucket * width; place < (bucket + 1) * width; place++) {
        if (this.#tags[place] !== 0) continue
        free++
        last = place
      }
      if (free <= most) continue
      most = free
      found = last
    }
    return found
  }

  /**
   * Frees the place of the key with most quota left in the two buckets, and returns this place. Returns `nothing` if no key
   * has more quota left than the new key.
   * @param newcomer the part of the quota that the new key has left, from 0 to 1
   */
  #vacate(newcomer: number, now: number): OverflowLocation {
    let found = nothing
    let most = newcomer
    for (const bucket of [this.#one, this.#other]) {
      for (let place = bucket * width; place < (bucket + 1) * width; place++) {
        if (this.#tags[place] === 0) continue
        const quota = this.#quotaLeft(place, now)
        if (quota <= most) continue
        most = quota
        found = place
      }
    }
    if (found === nothing) return nothing
    if (most < 1) this.#giveUp(this.#places.read(found), Math.floor(found / width), this.#tags[found] as number, now)
    this.#free(found)
    return found
  }

  #quotaLeft(place: number, now: number): number {
    return quotaLeft(this.#places.read(place), now)
  }

  /**
   * Merges a key that lost its place into the shared cells of its two buckets. Without shared cells, forgets the key.
   * @param bucket one of these two buckets
   */
  #giveUp(states: readonly State[], bucket: number, tag: number, now: number): void {
    if (this.#cells === undefined) {
      this.forgotten++
      return
    }
    this.merged++
    this.#cells.merge(states, bucket, now)
    this.#cells.merge(states, this.#pairOf(bucket, tag), now)
  }

  #free(place: number): void {
    this.#tags[place] = 0
    this.remembered--
    this.#places.clear(place)
  }
}
