/* The measures of `npm run check:size`, on a small package that is counted by hand. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { apiReport, publicNames } from './api.mjs'
import { placesOfKind } from './kinds.mjs'
import { loaded } from './loads.mjs'
import { longestChain, membersOf, reached, readSources, withOneImporter } from './sources.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'headgate-size-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

function write(files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), text)
  }
}

write({
  'src/index.ts': [
    '/* a head',
    '   of two lines */',
    '',
    "export type { Kept } from './types.ts'",
    "export { limit as limiter, type Options, Box } from './limit.ts'",
    "export * from './all.ts'",
    "export { parse } from 'other'",
    '',
  ].join('\n'),
  'src/types.ts': "import type { Options } from './limit.ts'\nexport class Kept { options?: Options }\n",
  'src/limit.ts': [
    "import '#platform'",
    'export interface Options { cost?: number } // behind code',
    '/** of the first */',
    'export function limit(key: string): void',
    'export function limit(key: number): void',
    'export function limit(): void {',
    "  void import('./later.ts')",
    '}',
    'export class Box {',
    '  #own = 1',
    '  private hidden = `a // text',
    '',
    '  /* and no comment */`',
    '  shown(): string {',
    '    return this.hidden + this.#own',
    '  }',
    '}',
  ].join('\n'),
  'src/all.ts': 'export const most: number = 1\nexport default most\n',
  'src/later.ts': "import { most } from './all.ts'\nexport const later: number = most\n",
  'src/platform/node.ts': 'export {}\n',
  'src/door.ts': "export { Box } from './limit.ts'\nexport { most as least } from './all.ts'\n",
  'src/ledger.ts': 'export interface Ledger { readonly a: 1; decide(): void; reset?(): void }\n',
})

const sources = readSources(home, ['src'])

test('comments and blank lines are no code, and a text that looks like a comment is', () => {
  const counts = ['index', 'limit', 'all'].map((name) => sources.get(`src/${name}.ts`))
  expect(counts).toMatchObject([
    { code: 4, comments: 2 },
    { code: 15, comments: 1 },
    { code: 2, comments: 0 },
  ])
})

test('an entry reaches what it imports as more than types, also what it imports later', () => {
  expect([...reached(sources, 'src/index.ts')].sort()).toEqual(
    ['all', 'index', 'later', 'limit', 'platform/node'].map((name) => `src/${name}.ts`),
  )
  expect(longestChain(sources)).toBe(4)
  expect(withOneImporter(sources)).toBe(3)
  expect(membersOf(sources, 'Ledger')).toBe(3)
})

test('the report has every exported signature once, without what is private', () => {
  const names = publicNames(sources, { index: 'src/index.ts', door: 'src/door.ts' })
  expect(names.map(({ names }) => names.map(({ name, value }) => [name, value]))).toEqual([
    [
      ['Kept', false],
      ['limiter', true],
      ['Options', false],
      ['Box', true],
      ['most', true],
      ['parse', true],
    ],
    [
      ['Box', true],
      ['least', true],
    ],
  ])
  const report = apiReport(names, 'pack')
  const [, index, door] = report.split('\n## ')
  expect(index).toContain('4 values and 2 types.')
  expect(index).toContain('// as limiter\nfunction limit(key: string): void;\nfunction limit(key: number): void;\n')
  expect(index).toContain('class Box {\n\tshown(): string;\n}')
  expect(index).toContain('// the type alone\nclass Kept {')
  expect(report).not.toMatch(/hidden|#own|#private|of the first/)
  expect(door).toContain('As in pack: `Box`.')
  expect(door).toContain('// as least\nconst most: number;')
})

test('a bundle loads its chunks and the platform, not what it imports later', () => {
  write({
    'dist/a.js': "import './chunks/b.js'\nexport { c } from './chunks/c.js'\nimport 'ms'\nimport('./later.js')\n",
    'dist/chunks/b.js': "import { now } from '#platform'\nimport './c.js'\n",
    'dist/chunks/c.js': 'export const c = 1\n',
    'dist/platform/node.js': 'export const now = 1\n',
  })
  expect(loaded(home, 'dist/a.js')).toEqual({ files: 4, bytes: 91 + 47 + 19 + 21 })
})

describe('one more kind', () => {
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'))
  cpSync(join(root, 'tsconfig.json'), join(home, 'tsconfig.json'))

  test('is named by the compiler in every table of kinds', () => {
    write({
      'kinds/src/kind.ts': "/** A kind. */\nexport type Kind = 'log' | 'bucket'\n",
      'kinds/src/words.ts':
        "import type { Kind } from './kind.ts'\nexport const words: Readonly<Record<Kind, string>> = { log: 'a', bucket: 'b' }\n",
      'kinds/src/cost.ts': [
        "import type { Kind } from './kind.ts'",
        'export function cost(kind: Kind): number {',
        "  if (kind === 'log') return 1",
        "  if (kind === 'bucket') return 2",
        '  return kind satisfies never',
        '}',
      ].join('\n'),
      'kinds/src/other.ts': "import type { Kind } from './kind.ts'\nexport const one: Kind = 'log'\n",
    })
    const places = placesOfKind(home, readSources(home, ['kinds']), ['kinds'])
    expect(places.sort()).toEqual(['kinds/src/cost.ts:5', 'kinds/src/words.ts:2'])
  })

  test('is named nowhere while a kind is any text', () => {
    expect(placesOfKind(home, sources, ['src'])).toEqual([])
  })
})
