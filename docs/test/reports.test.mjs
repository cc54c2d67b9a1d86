import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch, openPage, violationsOf } from './browser.mjs'

/* The reports of the lab, in a browser. The lab's own tests have none. */

const lab = fileURLToPath(new URL('../../lab/', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'headgate-reports-'))
const log = join(lab, 'test', 'made.log.gz')
const commands = {
  replay: ['replay', log, '--policy', '10/1m', '--policy', '5/10s fixed-window'],
  suggest: ['suggest', log],
  simulate: ['simulate', '--policy', '10/1s', '--policy', '10/1s burst 20'],
}

let browser

beforeAll(async () => {
  for (const [name, args] of Object.entries(commands)) {
    const main = [join(lab, 'main.mjs'), ...args, '--html', join(home, `${name}.html`)]
    execFileSync(process.execPath, main, { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  browser = await launch()
})
afterAll(async () => {
  await browser.close()
  rmSync(home, { recursive: true })
})

test('the report of suggest draws the quantiles of each window, and marks the least limits in the grid', async () => {
  const { page } = await openPage(browser)
  await page.goto(pathToFileURL(join(home, 'suggest.html')).href)
  const { grid, windows, affect } = JSON.parse(
    execFileSync(process.execPath, [join(lab, 'main.mjs'), ...commands.suggest, '--json']),
  )
  expect(await page.locator('.bars .bar:not(.axis) > span:first-child').allTextContents()).toEqual(
    windows.map(({ window }) => window),
  )
  // The bar of a window is as long as its most requests, on the logarithmic axis that all bars share.
  const widths = await page
    .locator('.bars .bar:not(.axis) .track')
    .evaluateAll((tracks) =>
      tracks.map((track) => track.lastElementChild.getBoundingClientRect().right - track.getBoundingClientRect().left),
    )
  const logs = windows.map(({ quantiles }) => Math.log10(quantiles.max) + 0.2)
  for (const [n, width] of widths.entries()) expect(width / widths.at(-1)).toBeCloseTo(logs[n] / logs.at(-1), 1)
  const leastLimits = windows.map(
    (_window, n) => grid.find(({ windows }) => windows[n].clientsAffectedShare <= affect)?.limit ?? Number.NaN,
  )
  const marked = await page
    .locator('td.least')
    .evaluateAll((cells) =>
      cells
        .toSorted((a, b) => a.cellIndex - b.cellIndex)
        .map((cell) => Number(cell.parentElement.cells[0].textContent.replace(',', ''))),
    )
  expect(marked).toEqual(leastLimits)
  await page.close()
})

const cases = Object.keys(commands).flatMap((name) => ['light', 'dark'].map((scheme) => ({ name, scheme })))

test.each(cases)(
  'the report of $name, $scheme, on a phone: whole, drawn, and without a fault',
  async ({ name, scheme }) => {
    const { page, faults } = await openPage(browser, { viewport: { width: 360, height: 740 }, colorScheme: scheme })
    const loaded = []
    page.on('request', (request) => loaded.push(request.url()))
    const file = pathToFileURL(join(home, `${name}.html`)).href
    await page.goto(file)
    const violations = await violationsOf(page)
    const charts = await page.locator('.chart canvas').count()
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    await page.close()
    expect([violations, faults, loaded]).toEqual([[], [], [file]])
    expect(width).toBeLessThanOrEqual(360)
    expect(charts).toBe(name === 'suggest' ? 6 : 2)
  },
)
