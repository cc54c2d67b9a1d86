/*
 * HalfSipHash-1-3 (Aumasson and Bernstein), a hash function that is fast for short keys and on 32-bit words. Its seed
 * is secret, so an attacker cannot choose keys that hash to the same bucket.
 */
import { randomWords } from '#platform'

export type Seed = readonly [number, number]

export function randomSeed(): Seed {
  return randomWords()
}

/** Computes two hashes of a key: `place` and `tag`. The results are fields, so that hashing allocates no memory. */
export class KeyHash {
  /** The first hash of the key, from 0 to 2^32 - 1. */
  place = 0
  /** The second hash of the key, from 1 to 2^32 - 1. It is never 0, because 0 marks a free place of a table. */
  tag = 0
  readonly #seed: Seed
  #a = 0
  #b = 0
  #c = 0
  #d = 0

  constructor(seed: Seed) {
    this.#seed = seed
  }

  /** Hashes the UTF-16 code units of the key, two units in each word. */
  read(key: string): void {
    const [low, high] = this.#seed
    this.#a = low
    this.#b = high
    this.#c = low ^ 0x6c796765
    this.#d = high ^ 0x74656462
    this.#b ^= 0xee // selects the variant of HalfSipHash that returns two words
    const even = key.length & ~1
    for (let n = 0; n < even; n += 2) this.#word(key.charCodeAt(n) | (key.charCodeAt(n + 1) << 16))
    this.#word((key.length << 25) | (even < key.length ? key.charCodeAt(even) : 0))
    this.#c ^= 0xee
    this.place = this.#finish()
    this.#b ^= 0xdd
    this.tag = this.#finish() || 1
  }

  #word(word: number): void {
    this.#d ^= word
    this.#round()
    this.#a ^= word
  }

  #finish(): number {
    for (let n = 0; n < 3; n++) this.#round()
    return (this.#b ^ this.#d) >>> 0
  }

  #round(): void {
    let a = this.#a
    let b = this.#b
    let c = this.#c
    let d = this.#d
    a = (a + b) | 0
    b = rotate(b, 5) ^ a
    a = rotate(a, 16)
    c = (c + d) | 0
    d = rotate(d, 8) ^ c
    a = (a + d) | 0
    d = rotate(d, 7) ^ a
    c = (c + b) | 0
    b = rotate(b, 13) ^ c
    this.#a = a
    this.#b = b
    this.#c = rotate(c, 16)
    this.#d = d
  }
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}
