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
import type { Policy } from '../algorithms/algorithm.ts'
import { Weighing } from '../algorithms/step.ts'
import { KeyHash, type Seed } from './key-hash.ts'
import { left, States } from './states.ts'

/** Places of a bucket, the cell among them. */
const depth = 8
/** Places for each key of the table: at ten times its capacity nine keys in ten are out, and all but few find one. */
const placesPerKey = 12
/** Looked at in passing for each new key of the table. */
const swept = 2
const mostBytes = 64 * 2 ** 20

/** What a key that is not in the table starts from: nothing, two cells, or its own place, a number above 0. */
export type Found = number
export const nothing = 0
export const cells = -1

export class Sketch {
  readonly #states: States
  #weighings: readonly Weighing[]
  readonly #buckets: number
  /** Whose place it is, and of a cell whether it is in use: 0 is free. */
  readonly #tags: Uint32Array
  readonly #hash: KeyHash
  /** The cells of the key that was hashed last. */
  #one = 0
  #other = 0
  #hand = 0
  #used = 0
  #held = 0
  #merged = 0

  constructor(policies: readonly Policy[], maxKeys: number, seed: Seed) {
    this.#states = new States(policies, true)
    this.#weighings = policies.map((policy) => new Weighing(policy))
    const places = Math.min(placesPerKey * maxKeys, mostBytes / (this.#states.bytes + 4))
    this.#buckets = Math.ceil(places / depth)
    this.#tags = new Uint32Array(this.#buckets * depth)
    this.#states.resize(this.#buckets * depth)
    this.#hash = new KeyHash(seed)
  }

  /** Whether nothing is remembered, so that no key need be looked for. */
  get empty(): boolean {
    return this.#used === 0
  }

  /** Keys that have a place of their own. */
  get held(): number {
    return this.#held
  }

  /** How often a key was merged with others. */
  get merged(): number {
    return this.#merged
  }

  /** Points the weighings to what the key starts from, unless that is nothing. */
  find(weighings: readonly Weighing[], key: string, now: number): Found {
    this.#locate(key)
    const own = this.#own(this.#one) || this.#own(this.#other)
    if (own !== nothing) {
      this.#states.point(weighings, own)
      return own
    }
    if (this.#tags[this.#one] === 0 || this.#tags[this.#other] === 0) return nothing
    this.#states.pointLighter(weighings, this.#one, this.#other, now)
    return cells
  }

  /** Frees a key's own place: its state is elsewhere now, or not wanted any more. */
  release(found: Found): void {
    if (found > nothing) this.#free(found)
  }

  /** Remembers a key, which has no place, by the states that the weighings point to. */
  remember(weighings: readonly Weighing[], key: string, now: number): void {
    this.#locate(key)
    const { tag } = this.#hash
    const place = this.#room() || this.#makeRoom(left(weighings, now), now)
    if (place === nothing) {
      this.#merge(weighings, this.#one, this.#other, now)
      return
    }
    this.#tags[place] = tag
    this.#used++
    this.#held++
    this.#states.copy(weighings, place, now)
  }

  /** Clears the next few places if they are like new. */
  sweep(now: number): void {
    for (let looked = 0; looked < swept; looked++) {
      this.#hand = (this.#hand + 1) % this.#tags.length
      if (this.#tags[this.#hand] !== 0 && this.#states.left(this.#hand, now) === 1) this.#free(this.#hand)
    }
  }

  /** Goes on under the same policies with other limits. */
  retune(policies: readonly Policy[], now: number): void {
    const places = Array.from(this.#tags.keys()).filter((place) => this.#tags[place] !== 0)
    this.#states.retune(policies, places, now)
    this.#weighings = policies.map((policy) => new Weighing(policy))
  }

  #locate(key: string): void {
    this.#hash.read(key)
    const bucket = this.#hash.place % this.#buckets
    this.#one = bucket * depth
    this.#other = this.#beside(bucket, this.#hash.tag) * depth
  }

  /** The other bucket of a key that has this one: the two add up to its tag, modulo their number. */
  #beside(bucket: number, tag: number): number {
    return ((tag % this.#buckets) - bucket + this.#buckets) % this.#buckets
  }

  #own(cell: number): Found {
    for (let place = cell + 1; place < cell + depth; place++) if (this.#tags[place] === this.#hash.tag) return place
    return nothing
  }

  /** A free place in the bucket that has more of them. */
  #room(): Found {
    let room = nothing
    let most = 0
    for (const cell of [this.#one, this.#other]) {
      let free = 0
      let last = nothing
      for (let place = cell + 1; place < cell + depth; place++) {
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
    for (const cell of [this.#one, this.#other]) {
      for (let place = cell + 1; place < cell + depth; place++) {
        const leaves = this.#states.left(place, now)
        if (leaves <= most) continue
        most = leaves
        room = place
      }
    }
    if (room === nothing) return nothing
    if (most < 1) this.#mergeOwn(room, now)
    this.#free(room)
    return room
  }

  #mergeOwn(place: number, now: number): void {
    const bucket = Math.floor(place / depth)
    const beside = this.#beside(bucket, this.#tags[place] as number)
    this.#states.point(this.#weighings, place)
    this.#merge(this.#weighings, bucket * depth, beside * depth, now)
  }

  #merge(weighings: readonly Weighing[], one: number, other: number, now: number): void {
    this.#merged++
    for (const cell of [one, other]) {
      if (this.#tags[cell] !== 0) {
        this.#states.merge(weighings, cell, now)
        continue
      }
      this.#tags[cell] = 1
      this.#used++
      this.#states.copy(weighings, cell, now)
    }
  }

  #free(place: number): void {
    this.#tags[place] = 0
    this.#used--
    if (place % depth !== 0) this.#held--
    this.#states.clear(place)
  }
}
