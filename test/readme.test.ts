import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inDepth } from './support/depth.ts'
import { examplesOf, failuresOf, pages, root, writeExamples } from './support/examples.ts'

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

beforeAll(() => writeExamples(folder, [...examples.values()].flat()))

afterAll(() => rmSync(folder, { recursive: true }))

const programs = [...examples].map(([page, all]) => {
  return [page, all.filter(({ language }) => language === 'js').map(({ file }) => file)] as const
})

test.concurrent.for(programs.filter(([, files]) => files.length > 0))(
  'The examples of %s run',
  { timeout: 150_000 },
  async ([, files], { expect }) => {
    const found: Record<string, string | undefined> = {}
    // In depth, each has a process of its own.
    for (const some of inDepth ? files.map((file) => [file]) : [files]) Object.assign(found, await failuresOf(some))
    expect(found).toEqual(Object.fromEntries(files.map((file) => [basename(file), ''])))
  },
)

test.each([...pages, 'CONTRIBUTING.md', 'CHANGELOG.md'])('The links of %s lead somewhere', (page) => {
  expect(brokenLinksOf(page)).toEqual([])
})
