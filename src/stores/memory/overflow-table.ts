/*
 * The overflow table remembers the keys that the key table has evicted, in a fixed number of places.
 *
 * Each place holds one key's states. A hash of the key finds a bucket of places, and 32 more bits (the tag) identify the key:
 *
 *     bucket     own places                      cell       a key hashes to two buckets and lies in either
 *       17     [ key ] [ key ] [     ] ...     [ merged ]
 *       42     [ key ] [     ] [     ] ...     [        ]
 *
 * A key with a place of its own is decided as if it had never been evicted. When both buckets of a key are full, the key in
 * the two buckets with most quota left loses its place. Under one plan it is merged into the cells of its two buckets (see
 * shared-cells.ts), so no key ever gets more than is due. Under several plans, states have no common layout and cannot be
 * merged: the key is forgotten. States drain with time. A place whose key has its full quota again is cleared while other
 * keys come.
 *
 * The hash has a secret seed, so an attacker cannot choose keys that share a bucket.
 */

import type { Policy } from '../../algorithms/index.ts'
import { KeyHash, type Seed } from './key-hash.ts'
import { SharedCells } from './shared-cells.ts'
import { quotaLeft, type State } from './state.ts'
import { StateRows } from './state-rows.ts'

/** How many places a bucket has. With the shared cell, these are eight. */
const width = 7
/** How many places there are for each key of the table. With nine keys in ten evicted, almost all find a place. */
const placesPerKey = 12
/** How many places and cells are checked for each new key of the table. */
const swept = 2

/**
 * Where the states of an evicted key are: `nothing` for nowhere, `cells` for two shared cells, or the number of its place.
 */
export type OverflowLocation = number
export const nothing = -1
export const cells = -2

export class OverflowTable {
  #places: StateRows
  /** The shared cells; undefined under several plans. */
  #cells: SharedCells | undefined
  readonly #buckets: number
  /** The tag of the key in each place; 0 if the place is free. */
  readonly #tags: Uint32Array
  readonly #hash: KeyHash
  /** The two buckets of the key that was hashed last. */
  #one = 0
  #other = 0
  #hand = 0
  /** How many keys have a place of their own. */
  remembered = 0
  /** How often a key was merged with others. */
  merged = 0
  /** How often a key was forgotten. */
  forgotten = 0

  /** @param shared true if several plans share the states */
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

  /** The states of the key that was found last. */
  read(found: OverflowLocation, now: number): readonly State[] {
    if (found !== cells) return this.#places.read(found)
    return (this.#cells as SharedCells).leastUsed(this.#one, this.#other, now)
  }

  /** Frees the key's own place, if it has one. */
  release(found: OverflowLocation): void {
    if (found >= 0) this.#free(found)
  }

  /** Remembers the states of a key that has no place. */
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

  /** Checks the next few places and cells, and clears those whose keys have their full quota again. */
  sweep(now: number): void {
    const all = this.#tags.length + (this.#cells === undefined ? 0 : this.#buckets)
    for (let looked = 0; looked < swept; looked++) {
      this.#hand = (this.#hand + 1) % all
      const cell = this.#hand - this.#tags.length
      if (cell >= 0) this.#cells?.prune(cell, now)
      else if (this.#tags[this.#hand] !== 0 && this.#quotaLeft(this.#hand, now) === 1) this.#free(this.#hand)
    }
  }

  /** Lets several plans share the states. Keys that were merged are forgotten. */
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

  /** The other bucket of a key with this bucket. The two add up to the key's tag, modulo the number of buckets. */
  #pairOf(bucket: number, tag: number): number {
    return ((tag % this.#buckets) - bucket + this.#buckets) % this.#buckets
  }

  #placeIn(bucket: number): OverflowLocation {
    const { tag } = this.#hash
    for (let place = bucket * width; place < (bucket + 1) * width; place++) if (this.#tags[place] === tag) return place
    return nothing
  }

  /** A free place in the bucket that has more free places. */
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

  /** Frees the place of the key with most quota left, and returns it. Returns `nothing` if the new key has as much left. */
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

  /** Merges a key without a place into the cells of its buckets, or forgets it. @param bucket one of the key's two buckets */
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
