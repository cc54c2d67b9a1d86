import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeOf } from '../docs/.vitepress/theme/playground/code-of.mjs'
import { codes } from '../docs/errors/codes.mjs'
import { warnings } from '../docs/errors/warnings.mjs'
import { headgateWarnings } from './support/headgate-warnings.ts'

/* The programs that the site shows besides those of its pages: of the error codes, and of the playground. */

const run = promisify(execFile)
const pages = Object.entries(codes)
const root = new URL('../', import.meta.url)
// Inside the repository, so that 'headgate' resolves to this package.
const folder = new URL('.examples-of-site/', root)

beforeAll(() => mkdirSync(folder, { recursive: true }))
afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, program: string): URL {
  const file = new URL(`${name}.mjs`, folder)
  writeFileSync(file, program)
  return file
}

/** Runs a program, and returns the code of the error that it throws. */
async function thrownBy(name: string, program: string): Promise<string | undefined> {
  try {
    await import(/* @vite-ignore */ write(name, program).href)
    return undefined
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

test('every error code has a page', () => {
  const source = readFileSync(new URL('src/common/errors.ts', root), 'utf8')
  const declared = [...source.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code]) => code)
  expect(pages.map(([code]) => code).toSorted()).toEqual(declared.toSorted())
})

test('every warning is on the page of the errors', () => {
  const sources = ['src', 'adapters'].flatMap((folder) => {
    const files = readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    return files.filter((name) => name.endsWith('.ts')).map((name) => new URL(`${folder}/${name}`, root))
  })
  const texts = sources.map((file) => readFileSync(file, 'utf8')).join('')
  const codes = new Set([...texts.matchAll(/'(HEADGATE_\w+)'/g)].map(([, code]) => code as string))
  for (const [error] of pages) codes.delete(error)
  const index = readFileSync(new URL('docs/errors/index.md', root), 'utf8')
  const listed = [...Object.keys(warnings), ...[...index.matchAll(/^\| `(HEADGATE_\w+)`/gm)].map(([, code]) => code)]
  expect(listed.toSorted()).toEqual([...codes].toSorted())
})

test.each(pages)(
  'the first program of %s fails with it, the second one does not fail',
  async (code, { wrong, right }) => {
    expect(await thrownBy(`${code}-wrong`, wrong)).toBe(code)
    await headgateWarnings()
    expect(await thrownBy(`${code}-right`, right)).toBeUndefined()
    expect(await headgateWarnings()).toEqual([])
  },
)

test.each(Object.entries(warnings))(
  'the first program of %s gives that warning alone, the second one gives none',
  async (code, { wrong, right }) => {
    await headgateWarnings()
    expect(await thrownBy(`${code}-right`, right)).toBeUndefined()
    expect(await headgateWarnings()).toEqual([])
    expect(await thrownBy(`${code}-wrong`, wrong)).toBeUndefined()
    expect(await headgateWarnings()).toEqual([expect.stringContaining(`${code}: `)])
  },
)

test.each(
  ['10/1s burst 20', '1000/month'].flatMap((text) =>
    Object.entries(codeOf(text)).map((each) => [text, ...each] as const),
  ),
)('the code of the playground for %s in %s runs', async (text, framework, code) => {
  const onAnyPort = code.replace(/\b(listen\(|port: )3000/, '$10')
  const file = write(
    `playground-${text}-${framework}`.replaceAll(/\W/g, '-'),
    `${onAnyPort}\nsetImmediate(() => process.exit(0))\n`,
  )
  await expect(run(process.execPath, [fileURLToPath(file)])).resolves.toMatchObject({ stderr: '' })
})
