import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codes } from '../docs/errors/codes.mjs'

const pages = Object.entries(codes)
const root = new URL('../', import.meta.url)
// Inside the repository, so that 'headgate' resolves to this package.
const folder = new URL('.examples-of-errors/', root)

beforeAll(() => mkdirSync(folder, { recursive: true }))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a program, and returns the code of the error that it throws. */
async function codeOf(name: string, program: string): Promise<string | undefined> {
  const file = new URL(`${name}.mjs`, folder)
  writeFileSync(file, program)
  try {
    await import(/* @vite-ignore */ pathToFileURL(file.pathname).href)
    return undefined
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

test('every error code has a page', () => {
  const source = readFileSync(new URL('src/errors.ts', root), 'utf8')
  const declared = [...source.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code]) => code)
  expect(pages.map(([code]) => code).toSorted()).toEqual(declared.toSorted())
})

test.each(pages)('the programs of %s fail and do not fail with it', async (code, { wrong, right }) => {
  expect(await codeOf(`${code}-wrong`, wrong)).toBe(code)
  expect(await codeOf(`${code}-right`, right)).toBeUndefined()
})
