import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from './site.mjs'

/* The reports of the lab, in a browser. The lab's own tests have none. */

const lab = fileURLToPath(new URL('../../lab/', import.meta.url))
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
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
    const page = await browser.newPage({ viewport: { width: 360, height: 740 }, colorScheme: scheme })
    const faults = []
    const loaded = []
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('request', (request) => loaded.push(request.url()))
    const file = pathToFileURL(join(home, `${name}.html`)).href
    await page.goto(file)
    await page.addScriptTag({ path: axe })
    const violations = await page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document)
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
    })
    const charts = await page.locator('.chart canvas').count()
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    await page.close()
    expect([violations, faults, loaded]).toEqual([[], [], [file]])
    expect(width).toBeLessThanOrEqual(360)
    expect(charts).toBe(name === 'suggest' ? 0 : 2)
  },
)
