import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('../../src/common/errors.ts', import.meta.url), 'utf8')
const [essay] = source.split('export type ErrorCode')
const list = essay
  .replaceAll(/^ \* ?/gm, '')
  .split(/^- /m)
  .slice(1)

/** What each code means, as the doc comment of `ErrorCode` says it: the text by the code. */
export const meanings = Object.fromEntries(
  list.flatMap((item) => {
    const [, names, text] = /^((?:`\w+`(?:, )?)+): ([\s\S]*?)(?:\n\n|\n?\/|$)/.exec(item) ?? []
    return names === undefined ? [] : [...names.matchAll(/\w+/g)].map(([code]) => [code, sentence(text)])
  }),
)

/** The text on one line, with a large first letter. */
function sentence(text) {
  const line = text.trim().replaceAll(/\s*\n\s*/g, ' ')
  return line[0].toUpperCase() + line.slice(1)
}
