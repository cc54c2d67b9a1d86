import { once } from 'node:events'
import { memoryStore } from 'headgate'
import { ManualClock } from 'headgate/testing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createApp } from '../../examples/quotas/app.mjs'
import { launch, openPage, violationsOf } from './browser.mjs'

/* The usage page of examples/quotas, in a browser. */

let browser
let server
let url

beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

beforeEach(async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const customers = new Map([
    ['ann', { id: 'ann', key: 'key-of-ann', plan: 'free', since: '2026-01-01', timeZone: 'Europe/Berlin' }],
  ])
  server = createApp({ store: memoryStore({ clock: clock.now }), customers }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${server.address().port}`
  const routes = [...Array.from({ length: 13 }, () => '/report'), ...Array.from({ length: 15 }, () => '/search')]
  for (const route of routes) await fetch(`${url}${route}`, { headers: { 'x-api-key': 'key-of-ann' } })
  return () => {
    server.close()
    server.closeAllConnections()
  }
})

test('the page says what is used, and an upgrade on it keeps that', async () => {
  const { page, faults } = await openPage(browser)
  await page.goto(`${url}/customers/ann`)
  await page.getByText('340 of 1,000 used, resets on 1 December').waitFor()
  expect(await page.getByRole('meter', { name: 'This month' }).evaluate(({ value, max }) => [value, max])).toEqual([
    340, 1000,
  ])
  await page.getByRole('button', { name: 'Change to pro' }).click()
  await page.getByText('340 of 50,000 used, resets on 1 December').waitFor()
  await page.getByRole('button', { name: 'Change to unlimited' }).click()
  await page.getByText('You have no limits.').waitFor()
  await page.getByRole('button', { name: 'Change to free' }).click()
  await page.getByText('340 of 1,000 used, resets on 1 December').waitFor()
  expect(page.url()).toBe(`${url}/customers/ann`)
  await page.close()
  expect(faults).toEqual([])
})

test.each(['light', 'dark'])('the page on a phone, %s: whole, and without a fault', async (colorScheme) => {
  const { page, faults } = await openPage(browser, { viewport: { width: 360, height: 640 }, colorScheme })
  await page.goto(`${url}/customers/ann`)
  if (process.env.SHOT) await page.screenshot({ path: `${process.env.SHOT}-${colorScheme}.png` })
  const violations = await violationsOf(page)
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  await page.close()
  expect([violations, faults]).toEqual([[], []])
  expect(width).toBeLessThanOrEqual(360)
})
