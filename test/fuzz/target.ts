import type { Random } from '../support/seeded-random.ts'

/** Something that is fuzzed. `run` makes one hostile input from random numbers, and throws if the code breaks a promise. */
export interface Target {
  readonly name: string
  readonly run: (random: Random) => void | Promise<void>
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random(items.length)] as Item
}

/** A text of pieces, and of any characters: control characters, quotes, wide ones, halves of a pair. */
export function hostileText(random: Random, pieces: readonly string[], most = 12): string {
  let text = ''
  for (let n = random(most + 1); n > 0; n--) text += random(4) > 0 ? pick(random, pieces) : anyCharacter(random)
  return random(200) === 0 ? text.repeat(1 + random(300)) : text
}

function anyCharacter(random: Random): string {
  const end = pick(random, [0x20, 0x80, 0x100, 0x10000])
  return String.fromCharCode(random(end))
}

/** @param what the promise that does not hold */
export function check(holds: boolean, what: string, ...seen: readonly unknown[]): void {
  if (!holds) throw new Error(`${what}: ${seen.map((value) => JSON.stringify(value) ?? String(value)).join(' ')}`)
}
