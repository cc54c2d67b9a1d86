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

/** The text without its middle, if it takes more than `columns` columns: names in a list often differ at their ends. */
export function cutMiddle(text, columns) {
  if (stringWidth(text) <= columns) return text
  const units = Array.from(graphemes.segment(text), ({ segment }) => segment)
  const start = fitting(units, Math.ceil((columns - 1) / 2)).join('')
  const end = fitting(units.toReversed(), columns - 1 - stringWidth(start)).toReversed()
  return `${start}…${end.join('')}`
}

/** The first of the units that take at most `columns` columns. */
function fitting(units, columns) {
  let used = 0
  const end = units.findIndex((unit) => {
    used += stringWidth(unit)
    return used > columns
  })
  return end < 0 ? units : units.slice(0, end)
}

/** Spaces that fill a text up to `columns` columns. */
export function padding(text, columns) {
  return ' '.repeat(Math.max(0, columns - stringWidth(text)))
}

export { stringWidth as widthOf }
