import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examplesOf, pages, programOf, root, tsc } from './support/examples.ts'

const run = promisify(execFile)
// Inside the repository, so that 'headgate' resolves to this package.
const folder = new URL('.examples/', root)
const examples = new Map(pages.map((page) => [page, examplesOf(page, folder)]))

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
  const loose = ['--noEmit', '--strict', 'false', '--allowJs', '--checkJs']
  expect(await tsc([...loose, ...files])).toBe('')
}, 60_000)
