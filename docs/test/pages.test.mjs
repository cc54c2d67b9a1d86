import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch, serve } from './site.mjs'

const built = new URL('../.vitepress/dist/', import.meta.url)
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

let site
let browser

beforeAll(async () => {
  site = await serve()
  browser = await launch()
})
afterAll(async () => {
  await browser.close()
  site.close()
})

const pages = [
  '',
  'start',
  'choosing',
  'playground',
  'lab',
  'algorithms',
  'http',
  'errors/',
  'errors/HEADGATE_KEY',
  'reference/',
]

test.each(pages.flatMap((path) => ['light', 'dark'].map((scheme) => ({ path, scheme }))))(
  'axe finds no violation in /$path, $scheme',
  async ({ path, scheme }) => {
    const page = await browser.newPage({ colorScheme: scheme })
    const faults = []
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(`${site.url}/${path}`, { waitUntil: 'networkidle' })
    await page.addScriptTag({ path: axe })
    const violations = await page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document)
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
    })
    await page.close()
    expect(violations).toEqual([])
    expect(faults).toEqual([])
  },
)

test('every page of docs/ and every error code is on the site', () => {
  const names = readdirSync(new URL('../', import.meta.url)).filter((name) => name.endsWith('.md'))
  for (const name of names) expect(existsSync(new URL(name.replace('.md', '.html'), built)), name).toBe(true)
  const source = readFileSync(new URL('../../src/errors.ts', import.meta.url), 'utf8')
  for (const [, code] of source.matchAll(/^ {2}\| '(\w+)'/gm)) {
    expect(existsSync(new URL(`errors/${code}.html`, built)), code).toBe(true)
  }
})

test('the site has llms.txt', () => {
  expect(readFileSync(new URL('llms.txt', built), 'utf8')).toMatch(/^# headgate\n[\s\S]+lab\.md/)
})

test('the search finds a page', async () => {
  const page = await browser.newPage()
  await page.goto(site.url)
  await page.locator('.DocSearch-Button').click()
  await page.locator('#localsearch-input').fill('retryAfter')
  await page.locator('.result').first().waitFor()
  await page.close()
})

test('the reference has every entry point by the name that users import', () => {
  const { name, exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const index = readFileSync(new URL('../reference/index.md', import.meta.url), 'utf8')
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === 'object') expect(index).toContain(`[${subpath.replace('.', name)}](`)
  }
})
