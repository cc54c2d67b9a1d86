import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = new URL('../', import.meta.url)
// Inside the repository, so that 'headgate' resolves to this package.
const folder = new URL('.examples/', root)
const pages = [
  'README.md',
  ...readdirSync(new URL('docs/', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

interface Example {
  readonly language: string
  readonly line: number
  readonly code: string
  readonly file: string
}

/** The code blocks of a page that are marked js or ts. */
function examplesOf(page: string): Example[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  return [...text.matchAll(/^```(js|ts)\n(.*?)^```$/gms)].map(({ index, 1: language = '', 2: code = '' }) => {
    const line = text.slice(0, index).split('\n').length + 1
    const name = `${page.replaceAll(/\W/g, '-')}-${line}.${language === 'js' ? 'mjs' : 'mts'}`
    return { language, line, code, file: fileURLToPath(new URL(name, folder)) }
  })
}

/** A program that checks each `expression // => value`, listens on any free port, and ends. */
function programOf(code: string): string {
  const checked = code
    .replaceAll(/^(.+?) *\/\/ => (.+)$/gm, 'assert.deepEqual($1, $2)')
    .replaceAll(/\.listen\(\d+/g, '.listen(0')
  return `import assert from 'node:assert/strict'\n${checked}\nsetImmediate(() => process.exit(0))\n`
}

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: URL): string[] {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** The links of a page that lead to no file, or to no heading. */
function brokenLinksOf(page: string): string[] {
  const here = new URL(page, root)
  const links = [...readFileSync(here, 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    if (link.startsWith('https:')) return false
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? here : new URL(path, here)
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor))
  })
}

const examples = new Map(pages.map((page) => [page, examplesOf(page)]))

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const { language, code, file } of [...examples.values()].flat()) {
    writeFileSync(file, language === 'js' ? programOf(code) : `${code}\nexport {}\n`)
  }
})

afterAll(() => rmSync(folder, { recursive: true }))

describe.each([...examples].filter(([, { length }]) => length > 0))('The examples of %s run', (_page, all) => {
  test.concurrent.for(all.filter(({ language }) => language === 'js'))('line $line', async ({ file }, { expect }) => {
    await expect(run(process.execPath, [file])).resolves.toMatchObject({ stderr: '' })
  })
})

test.each([...pages, 'CONTRIBUTING.md', 'CHANGELOG.md'])('The links of %s lead somewhere', (page) => {
  expect(brokenLinksOf(page)).toEqual([])
})

test('The examples of all pages have no type errors', async () => {
  const files = [...examples.values()].flat().map(({ file }) => file)
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--skipLibCheck',
    '--types',
    'node',
  ]
  const loose = ['--strict', 'false', '--allowJs', '--checkJs']
  const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
  const { stdout } = await run(process.execPath, [tsc, ...options, ...loose, ...files]).catch((error) => error)
  expect(stdout).toBe('')
}, 60_000)
