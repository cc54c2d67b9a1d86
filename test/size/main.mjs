/*
 * Measures how much the package is, prints it, and holds the ceilings of ceilings.json and the report of all signatures in api.md. It needs a
 * build. With `--record` it writes today's figures and signatures down.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { entries } from '../../rolldown.entries.mjs'
import { apiReport, publicNames } from './api.mjs'
import { filesCrossed } from './crossed.mjs'
import { placesOfKind } from './kinds.mjs'
import { importTimes, loaded } from './loads.mjs'
import { longestChain, membersOf, reached, readSources, withOneImporter } from './sources.mjs'

const root = join(import.meta.dirname, '../..')
const [ceilingsFile, reportFile] = ['test/size/ceilings.json', 'test/size/api.md']
const folders = ['src', 'adapters']

/** Ceilings are rounded up to these, so that not every line changes them. */
const steps = { code: 50, bytes: 1000 }

/** What is held for each entry point. */
const columns = ['code', 'bytes', 'names']

const sources = readSources(root, folders)
const names = publicNames(sources, entries)
const report = apiReport(names, manifest.name)
const kindPlaces = placesOfKind(root, sources, folders)
const held = heldFigures()
const reported = await reportedFigures()

if (process.argv.includes('--record')) {
  const ceilings = Object.fromEntries(Object.entries(held).map(([name, value]) => [name, roundedUp(name, value)]))
  writeFileSync(join(root, ceilingsFile), `${JSON.stringify(ceilings, undefined, 2)}\n`)
  writeFileSync(join(root, reportFile), report)
}
const ceilings = JSON.parse(read(ceilingsFile) ?? '{}')
print()
const problems = [...passed(), ...changed()]
for (const problem of problems) console.error(`\n${problem}`)
process.exitCode = problems.length === 0 ? 0 : 1

function linesOf(files, kind) {
  return [...files].reduce((sum, file) => sum + sources.get(file)[kind], 0)
}

/** The figures that have a ceiling, by name. The last word of a name says what is counted. */
function heldFigures() {
  const figures = {
    'src and adapters: code': linesOf(sources.keys(), 'code'),
    'Ledger: methods': membersOf(sources, 'Ledger'),
    'one more Kind: places': kindPlaces.length,
  }
  for (const { entry, names: exported } of names) {
    const { files, bytes } = loaded(root, bundleOf(entry))
    figures[`${entry}: code`] = linesOf(reached(sources, entries[entry]), 'code')
    figures[`${entry}: bytes`] = bytes
    figures[`${entry}: names`] = exported.length
    if (entry === 'express') figures[`${entry}: files`] = files
  }
  return figures
}

function bundleOf(entry) {
  const bundle = `dist/${entry}.js`
  if (existsSync(join(root, bundle))) return bundle
  console.error(`There is no ${bundle}. Run: npm run build`)
  return process.exit(2)
}

/** The figures that are only shown. */
async function reportedFigures() {
  const { memory, express, redis = 'not measured, as there is no redis-server' } = await filesCrossed(root)
  const [ours, peer] = importTimes(root, [`${manifest.name}/express`, 'express-rate-limit'])
  const comments = linesOf(sources.keys(), 'comments')
  return {
    'files in src and adapters': sources.size,
    'files in the longest chain of imports': longestChain(sources),
    'files with one importer': withOneImporter(sources),
    'lines of comment for each line of code': (comments / linesOf(sources.keys(), 'code')).toFixed(3),
    'files that a call crosses, on memory': memory,
    'files that a request crosses, Express on memory': express,
    'files that a call crosses, on Redis': redis,
    'import of headgate/express': `${ours.toFixed(0)} ms, and of express-rate-limit ${peer.toFixed(0)} ms`,
  }
}

function roundedUp(name, value) {
  const step = steps[name.split(' ').at(-1)] ?? 1
  return Math.ceil(value / step) * step
}

function print() {
  const inTable = new Set(names.flatMap(({ entry }) => columns.map((what) => `${entry}: ${what}`)))
  const alone = Object.keys(held).filter((name) => !inTable.has(name))
  console.log('figure, and its ceiling\n')
  for (const name of alone) console.log(name.padEnd(28) + cell(name))
  if (kindPlaces.length > 0) console.log(`${' '.repeat(28)}${kindPlaces.join(', ')}`)
  console.log(
    `\n${['entry point', 'code that it reaches', 'bytes that it loads', 'names that it exports'].map(column).join('')}`,
  )
  for (const { entry } of names) {
    const cells = columns.map((what) => cell(`${entry}: ${what}`))
    console.log([entry, ...cells].map(column).join(''))
  }
  console.log('\nwithout a ceiling\n')
  for (const [name, value] of Object.entries(reported)) console.log(name.padEnd(52) + shown(value))
  const lower = Object.keys(held).filter((name) => roundedUp(name, held[name]) < ceilings[name])
  if (lower.length > 0)
    console.log(`\nCeilings that can go down, by npm run check:size -- --record: ${lower.join(', ')}`)
}

function column(text) {
  return text.padEnd(28)
}

function cell(name) {
  return `${shown(held[name])} of ${shown(ceilings[name])}`
}

function shown(value = 'none') {
  return typeof value === 'number' ? value.toLocaleString('en-US') : value
}

function passed() {
  return Object.entries(held).flatMap(([name, value]) => {
    const ceiling = ceilings[name]
    if (value <= ceiling) return []
    const write = `write ${roundedUp(name, value)} into ${ceilingsFile} and say why in the commit.`
    if (ceiling === undefined) return `${name} has no ceiling. To give it one, ${write}`
    return `${name} has a ceiling of ${shown(ceiling)}, and is ${shown(value)}. Make it smaller, or ${write}`
  })
}

function changed() {
  if (read(reportFile) === report) return []
  return [
    `The exported signatures are not those of ${reportFile}. Run npm run check:size -- --record, read the difference, and say why in the commit.`,
  ]
}

function read(file) {
  return existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined
}
