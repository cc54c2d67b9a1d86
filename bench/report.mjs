/*
 * npm run bench:report: writes the results of the full sets, bench/results/<suite>.json, into docs/performance.md between the
 * marks of each suite, and their plots into docs/performance/. The text outside the marks is written by hand.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { judged } from './lib/aims.mjs'
import { conditions, tables } from './lib/markdown.mjs'
import { plots } from './lib/plot.mjs'
import { loadSuite, names } from './suites/index.mjs'

const page = new URL('../docs/performance.md', import.meta.url)
const pictures = new URL('../docs/performance/', import.meta.url)

function section(suite, result) {
  const aims = judged(suite, result).map(
    ({ reached, what, came, aim }) => `| ${what} | ${came} | ${aim} | ${reached ? 'yes' : '**no**'} |`,
  )
  const table = ['| target | measured | aim | reached |', '| --- | ---: | ---: | --- |', ...aims].join('\n')
  return [
    conditions(result),
    ...tables(suite, result, (file) => `performance/${suite.name}-${file}.svg`),
    ...(aims.length > 0 ? [table] : []),
  ].join('\n\n')
}

mkdirSync(pictures, { recursive: true })
let text = readFileSync(page, 'utf8')
for (const name of names) {
  const file = new URL(`results/${name}.json`, import.meta.url)
  if (!existsSync(file)) continue
  const suite = await loadSuite(name)
  const result = JSON.parse(readFileSync(file, 'utf8'))
  for (const plot of plots(suite, result)) writeFileSync(new URL(`${name}-${plot.file}.svg`, pictures), plot.svg)
  const marks = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`)
  if (!marks.test(text)) throw new Error(`docs/performance.md has no place for ${name}`)
  text = text.replace(marks, (_all, begin, end) => `${begin}\n${section(suite, result)}\n\n${end}`)
}
writeFileSync(page, text)
