import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const root = new URL('../', import.meta.url)
const docs = new URL('docs/', root)
const names = existsSync(docs) ? readdirSync(docs).filter((name) => name.endsWith('.md')) : []
const pages = ['README.md', ...names.map((name) => `docs/${name}`).filter((page) => examples(page).length > 0)]

/** The examples of a page: what stands in its fences marked js. */
function examples(page: string): { line: number; code: string }[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map((match) => ({
    line: text.slice(0, match.index).split('\n').length,
    code: match[1] as string,
  }))
}

/** The example as a program of its own: `expression // => value` is checked, a server takes any port and ends. */
function program(code: string): string {
  const checked = code
    .replaceAll(/^(.+?) *\/\/ => (.+)$/gm, 'assert.deepEqual($1, $2)')
    .replaceAll(/\.listen\(\d+/g, '.listen(0')
  return `import assert from 'node:assert/strict'\n${checked}\nsetImmediate(() => process.exit(0))\n`
}

/** Every example of the documentation runs, and says what it says. */
describe.each(pages)('%s', (page) => {
  test.concurrent.each(examples(page))('the example of line $line', async ({ line, code }) => {
    // Inside the repository, so that 'headgate' resolves to this package.
    const file = fileURLToPath(new URL(`.example-${page.replaceAll(/\W/g, '-')}-${line}.mjs`, root))
    writeFileSync(file, program(code))
    try {
      await expect(promisify(execFile)(process.execPath, [file])).resolves.toMatchObject({ stderr: '' })
    } finally {
      rmSync(file)
    }
  })
})
