import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examplesOf, pages, root, tsc, writeExamples } from './support/examples.ts'

// Inside the repository, so that 'headgate' resolves to this package.
const folder = new URL('.examples-with-types/', root)
const examples = pages.flatMap((page) => examplesOf(page, folder))

beforeAll(() => writeExamples(folder, examples))
afterAll(() => rmSync(folder, { recursive: true }))

test('The examples of all pages have no type errors', async () => {
  const loose = ['--noEmit', '--strict', 'false', '--allowJs', '--checkJs']
  expect(await tsc([...loose, ...examples.map(({ file }) => file)])).toBe('')
}, 60_000)
