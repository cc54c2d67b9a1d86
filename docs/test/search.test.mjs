import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from './browser.mjs'
import { serve } from './site.mjs'

let site
let browser
let page

beforeAll(async () => {
  site = await serve()
  browser = await launch()
  page = await browser.newPage()
  await page.goto(`${site.url}/support`)
  await page.locator('.DocSearch-Button').click()
})
afterAll(async () => {
  await browser.close()
  site.close()
})

/** The paths of the first results, best first. */
async function found(words) {
  const input = page.locator('#localsearch-input')
  await input.fill('')
  await page.locator('.result').first().waitFor({ state: 'detached' })
  await input.fill(words)
  await page.locator('.result').first().waitFor()
  const links = await page.locator('.result').evaluateAll((all) => all.map((each) => new URL(each.href).pathname))
  return links.map((path) => path.slice(new URL(site.url).pathname.length + 1))
}

/** What a reader types, and the page that is the first hit. A recipe about the same is as good. */
test.each([
  ['install', /^start$/],
  ['redis', /^(redis|recipes\/.*redis.*)$/],
  ['fastify redis', /^(redis|frameworks\/fastify|http|recipes\/.*)$/],
  ['nestjs', /^(frameworks\/nest|frameworks)$/],
  ['which algorithm', /^(choosing|algorithms)$/],
  ['choose a limit', /^(start|choosing|lab|recipes\/.*)$/],
  ['HEADGATE_POLICY', /^errors\/HEADGATE_POLICY$/],
  ['HEADGATE_STORE_TIMEOUT', /^errors\/HEADGATE_STORE_TIMEOUT$/],
  ['retryAfter', /^(limiter|http|choosing|frameworks)$/],
  ['onStoreError', /^(failure|limiter)$/],
  ['express-rate-limit', /^moving-in$/],
])('%s', async (words, path) => {
  const all = await found(words)
  expect(all[0]).toMatch(path)
  expect(all.filter((each) => each.startsWith('performance'))).toEqual([])
})
