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
  ['npm install', /^start$/],
  ['redis', /^redis$/],
  ['fastify redis', /^(redis|frameworks\/fastify|recipes\/redis)$/],
  ['fastify with redis', /^(redis|frameworks\/fastify|recipes\/redis)$/],
  ['nestjs', /^frameworks\/nest$/],
  ['nest', /^frameworks\/nest$/],
  ['which algorithm', /^choosing$/],
  ['choose a limit', /^(start|choosing|lab)$/],
  ['what limit should I set', /^(choosing|lab)$/],
  ['default of maxKeys', /^reference\/options$/],
  ['block an ip', /^(http|limiter)$/],
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
