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
    expect(charts).toBe(name === 'suggest' ? 0 : 2)
  },
)
