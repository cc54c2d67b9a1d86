import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pages, root } from '../support/examples.ts'

/** The programs of a page that begin with the file of examples/ that they show. */
function shownIn(page: string): [string, string][] {
  const text = readFileSync(new URL(page, root), 'utf8')
  const blocks = text.matchAll(/^```\w+(?: \[.+?\])?\n\/\/ (examples\/\S+)\n(.*?)^```$/gms)
  return [...blocks].map(([, file = '', code = '']) => [file, code])
}

test.each(pages.flatMap(shownIn))('a page shows %s as it is', (file, code) => {
  expect(readFileSync(new URL(file, root), 'utf8')).toBe(code)
})

test('the first steps of README.md are those of docs/start.md', () => {
  const read = (name: string) => readFileSync(new URL(name, root), 'utf8').replace('// nest-start.ts\n', '')
  const [, tabs = ''] = read('docs/start.md').split(':::')
  for (const [, code = ''] of tabs.matchAll(/^```\w+ \[.+?\]\n(.*?)^```$/gms)) expect(read('README.md')).toContain(code)
})
