/*
 * What is remembered of keys for which the table has no room, in a fixed number of places.
 *
 * A count-min sketch would let every key share two hashed cells with others: at ten times the capacity each cell is shared
 * by many, and all of them are refused for the one that uses most. So a cell comes with a few places more, each for one
 * key alone, told apart by 32 bits of its hash:
 *
 *     bucket     cell      own places                      a key hashes to two buckets and lies in either
 *       17     [ max ] [ key ] [ key ] [     ] ...
 *       42     [     ] [ key ] [     ] [     ] ...
 *
 * A key with a place of its own goes on as if it had never left. Only when both its buckets are full the one of those
 * keys that has most left is merged into its two cells: each is then at least as strict as every key merged into it.
 * A key without a place starts from the lighter of its two cells. So nobody ever gets more than is due; where keys share,
 * somebody may get less. Everything drains as states do, and what has drained is cleared away in passing.
 *
 * The hash is seeded: nobody outside can choose keys that meet.
 */

import { type Cells, left, type Places, type State } from './flat-states.ts'
import { KeyHash, type Seed } from './key-hash.ts'

/** A bucket's own places; with its cell they are eight. */
const width = 7
/** Places for each key of the table: at ten times its capacity nine keys in ten are out, and all but few find one. */
const placesPerKey = 12
/** Looked at in passing for each new key of the table. */
const swept = 2

/** What a key that is not in the table starts from: nothing, two cells, or its own place, a number from 0. */
export type Found = number
export const nothing = -1
export const cells = -2

export class OverflowTable {
  readonly #places: Places
  readonly #cells: Cells
  readonly #buckets: number
  /** Whose place it is: 0 is free. */
  readonly #tags: Uint32Array
  /** Of each bucket, whether its cell is in use. */
  readonly #shared: Uint8Array
  readonly #hash: KeyHash
  /** The buckets of the key that was hashed last. */
  #one = 0
  #other = 0
  #hand = 0
  #used = 0
  #held = 0
  #merged = 0

  /** @param like one that this takes the place of: with as many buckets */
  constructor(places: Places, cells: Cells, maxKeys: number, seed: Seed, like?: OverflowTable) {
    this.#places = places
    this.#cells = cells
    const most = Math.min(placesPerKey * maxKeys, places.most)
    this.#buckets = like === undefined ? Math.ceil(most / (width + 1)) : like.#buckets
    this.#tags = new Uint32Array(this.#buckets * width)
    this.#shared = new Uint8Array(this.#buckets)
    this.#hash = new KeyHash(seed)
    places.resize(this.#tags.length)
    cells.resize(this.#buckets)
  }

  /** Keys that have a place of their own. */
  get held(): number {
    return this.#held
  }

  /** How often a key was merged with others. */
  get merged(): number {
    return this.#merged
  }

  /** What the key starts from. */
  find(key: string): Found {
    if (this.#used === 0) return nothing
    this.#locate(key)
    const place = this.#placeIn(this.#one)
    const own = place === nothing ? this.#placeIn(this.#other) : place
    if (own !== nothing) return own
    return this.#shared[this.#one] === 1 && this.#shared[this.#other] === 1 ? cells : nothing
  }

  /** The states of what was found last. */
  read(found: Found, now: number): readonly State[] {
    return found === cells ? this.#cells.lighter(this.#one, this.#other, now) : this.#places.read(found)
  }

  /** Frees a key's own place: its state is elsewhere now, or not wanted any more. */
  release(found: Found): void {
    if (found >= 0) this.#free(found)
  }

  /** Remembers a key, which has no place, by its states. */
  remember(key: string, states: readonly State[], now: number): void {
    this.#locate(key)
    const { tag } = this.#hash
    let place = this.#room()
    if (place === nothing || !this.#places.fits(states)) place = this.#makeRoom(left(states, now), now)
    if (place === nothing || !this.#places.fits(states)) this.#merge(states, this.#one, this.#other, now)
    else this.#keep(states, place, tag, now)
  }

  #keep(states: readonly State[], place: number, tag: number, now: number): void {
    this.#tags[place] = tag
    this.#used++
    this.#held++
    this.#places.copy(states, place, now)
  }

  /** Clears the next few places and cells if they are like new. */
  sweep(now: number): void {
    const all = this.#tags.length + this.#buckets
    for (let looked = 0; looked < swept; looked++) {
      this.#hand = (this.#hand + 1) % all
      const cell = this.#hand - this.#tags.length
      if (cell >= 0) this.#prune(cell, now)
      else if (this.#tags[this.#hand] !== 0 && this.#left(this.#hand, now) === 1) this.#free(this.#hand)
    }
  }

  #prune(cell: number, now: number): void {
    if (this.#shared[cell] === 0 || this.#cells.prune(cell, now)) return
    this.#shared[cell] = 0
    this.#used--
  }

  /** Takes over what another of as many buckets has. @param change what becomes of the states */
  takeOver(from: OverflowTable, now: number, change: (states: readonly State[]) => readonly State[]): void {
    this.#merged = from.#merged
    for (const [cell, shared] of from.#shared.entries()) {
      if (shared === 1) this.#share(change(from.#cells.lighter(cell, cell, now)), cell, now)
    }
    for (const [place, tag] of from.#tags.entries()) {
      if (tag === 0) continue
      const states = change(from.#places.read(place))
      if (this.#places.fits(states)) this.#keep(states, place, tag, now)
      else this.#mergeFrom(states, Math.floor(place / width), tag, now)
    }
  }

  #locate(key: string): void {
    this.#hash.read(key)
    this.#one = this.#hash.place % this.#buckets
    this.#other = this.#beside(this.#one, this.#hash.tag)
  }

  /** The other bucket of a key that has this one: the two add up to its tag, modulo their number. */
  #beside(bucket: number, tag: number): number {
    return ((tag % this.#buckets) - bucket + this.#buckets) % this.#buckets
  }

  #placeIn(bucket: number): Found {
    const { tag } = this.#hash
    for (let place = bucket * width; place < (bucket + 1) * width; place++) if (this.#tags[place] === tag) return place
    return nothing
  }

  /** A free place in the bucket that has more of them. */
  #room(): Found {
    let room = nothing
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
      room = last
    }
    return room
  }

  /** A place that is like new, else that of the key with most left, which is merged; nothing if `newcomer` has most. */
  #makeRoom(newcomer: number, now: number): Found {
    let room = nothing
    let most = newcomer
    for (const bucket of [this.#one, this.#other]) {
      for (let place = bucket * width; place < (bucket + 1) * width; place++) {
        if (this.#tags[place] === 0) continue
        const leaves = this.#left(place, now)
        if (leaves <= most) continue
        most = leaves
        room = place
      }
    }
    if (room === nothing) return nothing
    const tag = this.#tags[room] as number
    if (most < 1) this.#mergeFrom(this.#places.read(room), Math.floor(room / width), tag, now)
    this.#free(room)
    return room
  }

  #left(place: number, now: number): number {
    return left(this.#places.read(place), now)
  }

  #mergeFrom(states: readonly State[], bucket: number, tag: number, now: number): void {
    this.#merge(states, bucket, this.#beside(bucket, tag), now)
  }

  #merge(states: readonly State[], one: number, other: number, now: number): void {
    this.#merged++
    this.#share(states, one, now)
    this.#share(states, other, now)
  }

  #share(states: readonly State[], cell: number, now: number): void {
    if (this.#shared[cell] === 0) this.#used++
    this.#shared[cell] = 1
    this.#cells.merge(states, cell, now)
  }

  #free(place: number): void {
    this.#tags[place] = 0
    this.#used--
    this.#held--
    this.#places.clear(place)
  }
}
