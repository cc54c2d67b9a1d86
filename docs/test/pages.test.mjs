import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { HeadgateError } from 'headgate'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampled } from '../../test/support/depth.ts'
import { codes } from '../errors/codes.mjs'
import { warnings } from '../errors/warnings.mjs'
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

const guide = ['', 'frameworks/', 'recipes/'].flatMap((folder) =>
  readdirSync(new URL(`../${folder}`, import.meta.url))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}${name.replace('.md', '')}`),
)
const pages = [
  ...guide.filter((name) => name !== 'index'),
  '',
  'errors/',
  'errors/HEADGATE_KEY',
  'reference/',
  'reference/options',
]

test.each(sampled(pages, Math.ceil(pages.length / 3)))(
  'axe finds no violation in /%s, light and dark',
  async (path) => {
    const { page, faults } = await openPage(browser, { colorScheme: 'light' })
    await page.goto(`${site.url}/${path}`, { waitUntil: 'networkidle' })
    const inLight = await violationsOf(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html.dark').waitFor()
    const inDark = await violationsOf(page, ['color-contrast'])
    await page.close()
    expect({ inLight, inDark, faults }).toEqual({ inLight: [], inDark: [], faults: [] })
  },
)

test('no page scrolls sideways on a phone', async () => {
  const { page } = await openPage(browser, { viewport: { width: 390, height: 844 }, isMobile: true })
  const wide = []
  for (const path of pages) {
    await page.goto(`${site.url}/${path}`)
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    if (width > 390) wide.push(`${path}: ${width}`)
  }
  await page.close()
  expect(wide).toEqual([])
})

test('an option is whole on a phone', async () => {
  const { page } = await openPage(browser, { viewport: { width: 390, height: 844 }, isMobile: true })
  await page.goto(`${site.url}/reference/options`)
  const cut = await page
    .locator('.vp-doc :is(table, td)')
    .evaluateAll((all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length)
  const cell = page.locator('#ratelimiteroptions ~ table td:nth-child(3)').first()
  const label = await cell.evaluate((cell) => getComputedStyle(cell, '::before').content)
  await page.close()
  expect([cut, label]).toEqual([0, '"Default: "'])
})

test('the first screen has the install line, a program and a picture that plays', async () => {
  const { page } = await openPage(browser, { viewport: { width: 1280, height: 900 } })
  await page.goto(`${site.url}/`)
  for (const each of ['npm install headgate', "rateLimit('100/15m')", 'Ten a second, and an attack']) {
    const { y, height } = await page.getByText(each).first().boundingBox()
    expect(y + height, each).toBeLessThan(900)
  }
  await page.locator('[data-control="play"]', { hasText: 'Pause' }).waitFor()
  const cut = await page
    .locator('.home-start pre')
    .evaluateAll((all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length)
  await page.close()
  expect(cut).toBe(0)
})

test('no page of the reference scrolls sideways', async () => {
  const folder = new URL('reference/', built)
  const all = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.html'))
  const longest = all.toSorted((a, b) => statSync(new URL(b, folder)).size - statSync(new URL(a, folder)).size)
  const { page } = await openPage(browser, { viewport: { width: 1280, height: 900 } })
  const wide = []
  for (const path of longest.slice(0, 25)) {
    await page.goto(`${site.url}/reference/${path}`, { waitUntil: 'domcontentloaded' })
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    if (width > 1280) wide.push(`${path}: ${width}`)
  }
  await page.close()
  expect(wide).toEqual([])
})

test('a link to a heading below the pictures leads there', async () => {
  const { page } = await openPage(browser)
  await page.goto(`${site.url}/choosing#what-limit-should-i-set`, { waitUntil: 'networkidle' })
  await page.locator('[data-lane="B"]').nth(4).waitFor()
  await page.waitForTimeout(500) // until nothing mounts any more
  const { top, atEnd } = await page.locator('#what-limit-should-i-set').evaluate((heading) => ({
    top: heading.getBoundingClientRect().top,
    atEnd: scrollY + innerHeight >= document.documentElement.scrollHeight - 1, // it is the last heading
  }))
  await page.close()
  expect(atEnd || Math.abs(top) < 200).toBe(true)
})

test('every page of docs/ is on the site', () => {
  for (const name of guide) expect(existsSync(new URL(`${name}.html`, built)), name).toBe(true)
})

test.each(Object.keys({ ...codes, ...warnings }))('%s has a page, to which an error links', async (code) => {
  const { pathname } = new URL(new HeadgateError(code, '').help)
  const response = await fetch(new URL(pathname, site.url))
  expect(response.status).toBe(200)
  expect(await response.text()).toMatch(new RegExp(`<h1[^>]*>${code} [^]*>Cause [^]*>Fix `))
})

test('the site has llms.txt', () => {
  expect(readFileSync(new URL('llms.txt', built), 'utf8')).toMatch(/^# headgate\n[\s\S]+lab\.md/)
})

test('the reference has every entry point by the name that users import', () => {
  const { name, exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const index = readFileSync(new URL('../reference/index.md', import.meta.url), 'utf8')
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === 'object') expect(index).toContain(`[${subpath.replace('.', name)}](`)
  }
})
