import type { Roll } from '../support/dice.ts'

/** Something that is fuzzed. `run` makes one hostile input from the dice, and throws if the code breaks a promise. */
export interface Target {
  readonly name: string
  readonly run: (roll: Roll) => void
}

export function pick<Item>(roll: Roll, items: readonly Item[]): Item {
  return items[roll(items.length)] as Item
}

/** A text of pieces, and of any characters: control characters, quotes, wide ones, halves of a pair. */
export function hostileText(roll: Roll, pieces: readonly string[], most = 12): string {
  let text = ''
  for (let n = roll(most + 1); n > 0; n--) text += roll(4) > 0 ? pick(roll, pieces) : anyCharacter(roll)
  return roll(200) === 0 ? text.repeat(1 + roll(300)) : text
}

function anyCharacter(roll: Roll): string {
  const end = pick(roll, [0x20, 0x80, 0x100, 0x10000])
  return String.fromCharCode(roll(end))
}

/** @param what the promise that does not hold */
export function check(holds: boolean, what: string, ...seen: readonly unknown[]): void {
  if (!holds) throw new Error(`${what}: ${seen.map((value) => JSON.stringify(value) ?? String(value)).join(' ')}`)
}
