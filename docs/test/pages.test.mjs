import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { HeadgateError } from 'headgate'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codes } from '../errors/codes.mjs'
import { launch, openPage, violationsOf } from './browser.mjs'
import { serve } from './site.mjs'

const built = new URL('../.vitepress/dist/', import.meta.url)

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
    const { page, faults } = await openPage(browser, { colorScheme: scheme })
    await page.goto(`${site.url}/${path}`, { waitUntil: 'networkidle' })
    const violations = await violationsOf(page)
    await page.close()
    expect(violations).toEqual([])
    expect(faults).toEqual([])
  },
)

test('every page of docs/ is on the site', () => {
  const names = readdirSync(new URL('../', import.meta.url)).filter((name) => name.endsWith('.md'))
  for (const name of names) expect(existsSync(new URL(name.replace('.md', '.html'), built)), name).toBe(true)
})

test.each(Object.keys(codes))('an error %s links to its page', async (code) => {
  const { pathname } = new URL(new HeadgateError(code, '').help)
  const response = await fetch(new URL(pathname, site.url))
  expect(response.status).toBe(200)
  expect(await response.text()).toMatch(new RegExp(`<h1[^>]*>${code} [^]*>Cause [^]*>Fix `))
})

test('the site has llms.txt', () => {
  expect(readFileSync(new URL('llms.txt', built), 'utf8')).toMatch(/^# headgate\n[\s\S]+lab\.md/)
})

test('the search finds a page', async () => {
  const page = await browser.newPage()
  await page.goto(`${site.url}/`)
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
