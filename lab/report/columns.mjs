/*
 * Texts that cannot control a terminal, and their columns: two for a Chinese character or an emoji.
 */
import stringWidth from 'string-width'

/** Control characters, marks that turn the direction of text or have no width, line ends, and halves of characters. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** A text of a log or a store as a terminal may show it. */
export function printable(text) {
  return text.replace(unprintable, (unit) => `\\u{${unit.codePointAt(0).toString(16)}}`)
}

/** JSON of the same value that a terminal may show: `JSON.stringify` escapes the ASCII control characters alone. */
export function printableJson(value, indent) {
  const hex = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const escaped = (found) => (found === '\n' ? found : found.split('').map(hex).join(''))
  return JSON.stringify(value, undefined, indent).replace(unprintable, escaped)
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text, cut and ended by `…` if it takes more than `columns` columns. */
export function cut(text, columns) {
  if (stringWidth(text) <= columns) return text
  let [kept, used] = ['', 0]
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment)
    if (used >= columns) break
    kept += segment
  }
  return `${kept}…`
}

/** Spaces that fill a text up to `columns` columns. */
export function padding(text, columns) {
  return ' '.repeat(Math.max(0, columns - stringWidth(text)))
}

export { stringWidth as widthOf }
