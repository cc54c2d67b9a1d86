/*
 * npm run bench              the quick set: the most important cases of several suites, in under three minutes
 * npm run bench -- core http the full sets of these suites, or `all`
 *
 *     --rounds=3             this many rounds in place of the suite's own
 *     --only='hot key'       only cases whose name contains this text
 *
 * It writes bench/results/<name>.json, and makes <name>.md and <name>*.svg from it. `npm run bench:report` writes those of the
 * full sets into docs/performance.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { check } from './lib/aims.mjs'
import { page } from './lib/markdown.mjs'
import { plots } from './lib/plot.mjs'
import { runSuite } from './lib/runner.mjs'
import { loadSuite, names } from './suites/index.mjs'

/** The quick set has at most this many rounds, and this many milliseconds for all of them. */
const quickRounds = 3
const quickTime = 150_000
const results = new URL('results/', import.meta.url)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string' }, only: { type: 'string', default: '' } },
})

/** On a terminal each progress text replaces the last one. Elsewhere there is none. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

function write(name, result) {
  writeFileSync(new URL(name, results), result)
}

async function measure(suite, name, cases, terms) {
  const result = await runSuite(suite, cases, terms, progress)
  progress('')
  write(`${name}.json`, `${JSON.stringify(result, undefined, 1)}\n`)
  const drawn = plots(suite, result)
  for (const { file, svg } of drawn) write(`${name}-${file}.svg`, svg)
  const text = page(suite, result, drawn.length > 0 ? (file) => `${name}-${file}.svg` : undefined)
  write(`${name}.md`, text)
  console.log(text)
  for (const line of check(suite, result)) console.log(line)
  console.log()
}

mkdirSync(results, { recursive: true })
const chosen = positionals.includes('all') ? names : positionals
for (const name of chosen) {
  const suite = await loadSuite(name)
  const cases = suite.cases.filter(({ id }) => id.includes(values.only))
  await measure(suite, name, cases, { rounds: Number(values.rounds ?? suite.rounds) })
}
if (chosen.length === 0) await quick()

/** Every suite gets its share of the remaining time. */
async function quick() {
  const end = Date.now() + quickTime
  const suites = await Promise.all(names.map(loadSuite))
  const sets = suites
    .map((suite) => ({ suite, cases: suite.cases.filter(({ id, quick }) => quick && id.includes(values.only)) }))
    .filter(({ cases }) => cases.length > 0)
  let left = sets.reduce((sum, { cases }) => sum + cases.length, 0)
  for (const { suite, cases } of sets) {
    const budget = ((end - Date.now()) * cases.length) / left
    left -= cases.length
    await measure(suite, `quick-${suite.name}`, cases, { rounds: Number(values.rounds ?? quickRounds), budget })
  }
}
