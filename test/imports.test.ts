import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** The rooms by layers, the highest first. A file imports files of its own room and of lower layers. */
const layers: readonly Readonly<Record<string, RegExp>>[] = [
  { adapters: /^adapters\//, 'what users import': /^src\/(index|store|http)\.ts$/ },
  {
    http: /^src\/http\//,
    pacer: /^src\/pacer\//,
    testing: /^src\/testing\//,
    telemetry: /^src\/telemetry\//,
    'policy file': /^src\/policy-file\//,
  },
  { limiter: /^src\/limiter\// },
  { overrides: /^src\/overrides\// },
  {
    'stores that can fail':
      /^src\/stores\/((redis|postgres|cluster|records|shares|sqlite)\/|(compare-and-set|memcached|hit-answers|hit-store|read-batcher|store-inspector)\.ts$)/,
  },
  { failure: /^src\/failure\// },
  { memory: /^src\/stores\/(memory\/|lru-store\.ts$)/ },
  { 'the contract of stores': /^src\/stores\/contract\// },
  { inspection: /^src\/inspection\// },
  { calendar: /^src\/calendar\// },
  { algorithms: /^src\/algorithms\// },
  { policy: /^src\/policy\// },
  { common: /^src\/common\// },
  { platform: /^src\/platform\// },
]

/** Files that may be imported from another room beside its index.ts, because the parts of those rooms load apart. */
const parts =
  /^src\/platform\/|^src\/(telemetry\/log-refusals|overrides\/used-overrides)\.ts$|^src\/stores\/[\w-]+\.ts$|^adapters\/([\w-]+|compat\/\w+\/types)\.ts$/

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['src', 'adapters']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts'))
  .sort()

function layerOf(file: string): number {
  return layers.findIndex((rooms) => Object.values(rooms).some((pattern) => pattern.test(file)))
}

/** True for an import of the same room or of a lower layer. */
function isDownwards(file: string, imported: string): boolean {
  const room = Object.values(layers[layerOf(file)] ?? {}).find((pattern) => pattern.test(file))
  return room?.test(imported) || layerOf(imported) > layerOf(file)
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

/** True for an import of the own folder, of a file directly in a folder above, of the index.ts of another folder, or of a part. */
function isThroughDoor(file: string, imported: string): boolean {
  const [from, to] = [dirname(file), dirname(imported)]
  return from === to || from.startsWith(`${to}/`) || imported.endsWith('/index.ts') || parts.test(imported)
}

test('the sources and their imports are found', () => {
  expect(files).toEqual(
    expect.arrayContaining(['src/limiter/limiter.ts', 'src/stores/memory/memory-store.ts', 'adapters/express.ts']),
  )
  expect(importsOf('src/limiter/limiter.ts', read('src/limiter/limiter.ts'))).toEqual(
    expect.arrayContaining(['src/limiter/limiter-options.ts', 'src/policy/index.ts', 'src/limiter/reservation.ts']),
  )
  expect(
    importsOf(
      'src/a/b.ts',
      `import type {\n  A,\n} from '../c.ts'\nexport * from "./d.ts"\nimport('../../e.ts')\nimport './f.ts'`,
    ),
  ).toEqual(['src/c.ts', 'src/a/d.ts', 'e.ts', 'src/a/f.ts'])
})

test.each([
  ['src/http/guard.ts', 'src/limiter/limiter.ts', false],
  ['src/http/guard.ts', 'src/limiter/index.ts', true],
  ['src/http/keys/by-ip.ts', 'src/http/guard.ts', true],
  ['src/http/guard.ts', 'src/http/keys/by-ip.ts', false],
  ['src/http/guard.ts', 'src/stores/lru-store.ts', true],
])('%s may import %s: %s', (file, imported, may) => expect(isThroughDoor(file, imported)).toBe(may))

/** Files that may import modules of Node: frameworks, stores that have a server, and the platform. */
const usesNode = /^(adapters|src\/platform|src\/stores\/(redis|postgres|sqlite|cluster))\/|^src\/stores\/memcached\.ts$/

describe.each(files.filter((file) => !usesNode.test(file)))('%s', (file) => {
  test('imports no module of Node, so it runs on every platform', () => {
    expect(read(file)).not.toMatch(/^(import|export)\b.*['"]node:|\bimport\(['"]node:/m)
  })
})

describe.each(files)('%s', (file) => {
  test('is in a room', () => expect(layerOf(file)).not.toBe(-1))

  test('imports its own room and lower layers', () => {
    expect(importsOf(file, read(file)).filter((imported) => !isDownwards(file, imported))).toEqual([])
  })

  test('imports other rooms through their index.ts', () => {
    expect(importsOf(file, read(file)).filter((imported) => !isThroughDoor(file, imported))).toEqual([])
  })

  test('has at most 280 lines', () => {
    expect(read(file).split('\n').length).toBeLessThanOrEqual(280)
  })
})

describe.each([...new Set(files.map((file) => dirname(file)))])('%s', (room) => {
  test('has at most 16 files', () => {
    expect(files.filter((file) => dirname(file) === room).length).toBeLessThanOrEqual(16)
  })

  test('has an index.ts that says what the room is for', () => {
    // The parts of these are chosen by the platform, or each is an entry point.
    if (['src/platform', 'src/stores', 'adapters', 'adapters/compat'].includes(room)) return
    expect(existsSync(join(root, room, 'index.ts'))).toBe(true)
    expect(read(join(room, 'index.ts'))).toMatch(/^\/\*/)
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

test('shares load only where their entry is imported', () => {
  const others = files.filter((file) => !file.startsWith('src/stores/shares/'))
  const imports = others.flatMap((file) => importsOf(file, read(file)))
  expect(imports.filter((imported) => imported.startsWith('src/stores/shares/'))).toEqual([])
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
