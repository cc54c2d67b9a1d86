/* Texts in the columns of a terminal. A Chinese character and an emoji take two, an accent of its own none. */
import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** The text, ended by `…` if it takes more than so many columns. */
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

/** Spaces that fill a text up to so many columns. */
export function padding(text, columns) {
  return ' '.repeat(Math.max(0, columns - stringWidth(text)))
}

export { stringWidth as widthOf }
