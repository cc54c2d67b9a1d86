import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** The layers, highest first. A file may import files of its own layer and of lower ones. */
const layers: readonly (readonly [name: string, files: RegExp])[] = [
  ['adapters', /^adapters\//],
  ['pacer', /^src\/pacer\//],
  ['entry points', /^src\/(index|store)\.ts$/],
  ['http', /^src\/http\//],
  ['testing', /^src\/testing\//],
  ['telemetry', /^src\/telemetry\//],
  [
    'limiter',
    /^src\/(limiter|plan-limiter|limiter-options|call-arguments|plans|reservation|limiter-events|heavy-keys|call-sampler|space-saving|shown-keys|operations)\.ts$/,
  ],
  [
    'stores that can fail',
    /^src\/stores\/(redis|postgres|cluster|optimistic)\/|^src\/stores\/records\/(?!key-states|scoped-evaluation)|^src\/stores\/(compare-and-set|memcached|hit-store|read-batcher|shared-options)\.ts$/,
  ],
  ['failure', /^src\/failure\//],
  ['stores', /^src\/stores\//],
  ['inspection', /^src\/inspection\//],
  ['algorithms', /^src\/algorithms\//],
  ['policy, decision, clock', /^src\/(policy|decision|clock|duration|option-readers)\.ts$/],
  ['errors', /^src\/(errors|warn|options|maybe-promise|base64|linked-list|slots|sleeper)\.ts$/],
  ['platform', /^src\/platform\//],
]

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['src', 'adapters']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts'))
  .sort()

function layerOf(file: string): number {
  return layers.findIndex(([, pattern]) => pattern.test(file))
}

/** Every file of this package that `file` imports or re-exports, for types too. */
function importsOf(file: string, text: string): string[] {
  const statements = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*['"](\.[^'"]+)['"]|import\s*\(?\s*['"](\.[^'"]+)['"]/g,
  )
  return [...statements].map(([, from, bare]) => relative(root, join(root, dirname(file), (from ?? bare) as string)))
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

test('the sources and their imports are found', () => {
  expect(files).toEqual(
    expect.arrayContaining(['src/limiter/limiter.ts', 'src/stores/memory/memory-store.ts', 'adapters/express.ts']),
  )
  expect(importsOf('src/limiter/limiter.ts', read('src/limiter/limiter.ts'))).toEqual(
    expect.arrayContaining(['src/limiter/limiter-options.ts', 'src/policy/decision.ts', 'src/limiter/reservation.ts']),
  )
  expect(
    importsOf(
      'src/a/b.ts',
      `import type {\n  A,\n} from '../c.ts'\nexport * from "./d.ts"\nimport('../../e.ts')\nimport './f.ts'`,
    ),
  ).toEqual(['src/c.ts', 'src/a/d.ts', 'e.ts', 'src/a/f.ts'])
})

/** Files that may import modules of Node: frameworks, stores that have a server, and the platform. */
const usesNode = /^(adapters|src\/platform|src\/stores\/(redis|postgres|cluster))\/|^src\/stores\/memcached\.ts$/

describe.each(files.filter((file) => !usesNode.test(file)))('%s', (file) => {
  test('imports no module of Node, so it runs on every platform', () => {
    expect(read(file)).not.toMatch(/^(import|export)\b.*['"]node:|\bimport\(['"]node:/m)
  })
})

describe.each(files)('%s', (file) => {
  test('is in a layer', () => expect(layerOf(file)).not.toBe(-1))

  test('imports nothing from a higher layer', () => {
    const upwards = importsOf(file, read(file)).filter((imported) => layerOf(imported) < layerOf(file))
    expect(upwards).toEqual([])
  })

  test('has at most 250 lines', () => {
    expect(read(file).split('\n').length).toBeLessThanOrEqual(250)
  })
})

test('what others ask an algorithm is data or a method: nobody asks for its class', () => {
  const classes = files
    .filter((file) => file.startsWith('src/algorithms/'))
    .flatMap((file) => [...read(file).matchAll(/export (?:abstract )?class (\w+) extends/g)].map(([, name]) => name))
  expect(classes).toEqual(expect.arrayContaining(['Bucket', 'SlidingLog', 'Smooth', 'Penalty']))
  const asks = new RegExp(`instanceof (${classes.join('|')}|Algorithm)\\b`)
  expect(files.filter((file) => !file.startsWith('src/algorithms/') && asks.test(read(file)))).toEqual([])
})

test('the pacer imports nothing of http', () => {
  const pacer = files.filter((file) => file.startsWith('src/pacer/'))
  const imports = pacer.flatMap((file) => importsOf(file, read(file)))
  expect(imports.filter((imported) => imported.startsWith('src/http/'))).toEqual([])
})

test('no two files import each other in a circle', () => {
  const imports = new Map(files.map((file) => [file, importsOf(file, read(file))]))
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    expect(path.includes(file), `a circle: ${[...path, file].join(' -> ')}`).toBe(false)
    if (done.has(file)) return
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
})
