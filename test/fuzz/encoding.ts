import { encodeId, encodeName } from '../../src/stores/contract/encode.ts'
import type { Random } from '../support/seeded-random.ts'
import { check, hostileText, type Target } from './target.ts'

const pieces = [
  '%',
  '%0025',
  '#',
  ':',
  '{',
  '}',
  '@',
  '/',
  '.',
  '-',
  '_',
  'a',
  'A',
  '\u0000',
  '\ud800',
  '\udc00',
  'é',
  'x'.repeat(60),
]

/** Two texts never have one encoding, and no encoding has a character that separates the parts of a key. */
export const encoding: Target = {
  name: 'key encoding',
  run(random) {
    const one = hostileText(random, pieces)
    const other = random(4) === 0 ? hostileText(random, pieces) : changed(random, one)
    for (const [encode, form] of [
      [encodeId, /^[\w.:@%#-]{1,128}$/],
      [encodeName, /^[\w.%#-]{1,128}$/],
    ] as const) {
      check(form.test(encode(one)), 'only safe characters', one, encode(one))
      check((encode(one) === encode(other)) === (one === other), 'one encoding for one text', one, other)
    }
    check(encodeId(encodeId(one)) !== encodeId(one) || /^[\w.:@-]+$/.test(one), 'no text is its own encoding', one)
  },
}

/** Two characters that have the same hexadecimal digits as this one. */
function split(character: string): string {
  const code = character.charCodeAt(0) || 0
  return String.fromCharCode(code >> 4) + (code & 15).toString(16)
}

/** The text with one character removed, added, split, or in another case; or its own encoding. */
function changed(random: Random, text: string): string {
  const at = random(text.length + 1)
  switch (random(5)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1)
    case 1:
      return `${text.slice(0, at)}${hostileText(random, pieces, 1)}${text.slice(at)}`
    case 2:
      return text.toUpperCase()
    case 3:
      return text.slice(0, at) + split(text.slice(at, at + 1)) + text.slice(at + 1)
    default:
      return encodeId(text)
  }
}
