/* Headless Chromium, Debian's, driven by playwright-core. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const executablePath = '/usr/bin/chromium'
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

export function launch() {
  install()
  return chromium.launch({ executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu'] })
}

/** A new page, and the faults that it reports: errors in its console, and errors that nothing caught. */
export async function openPage(browser, options) {
  const page = await browser.newPage(options)
  const faults = []
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(error.message))
  return { page, faults }
}

/** What axe finds in a page: the rule, and the element that breaks it. @param {string[]} [rules] default: all */
export async function violationsOf(page, rules) {
  await page.addScriptTag({ path: axe })
  return page.evaluate(async (rules) => {
    const { violations } = await globalThis.axe.run(document, rules && { runOnly: rules })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }, rules)
}

/** Installs Chromium in the CI, where this runs as root. Elsewhere the error says how to. */
function install() {
  if (existsSync(executablePath)) return
  const steps = 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium'
  if (process.getuid?.() !== 0 || process.env.CI === undefined) throw new Error(`Chromium is missing. Run: ${steps}`)
  execFileSync('sh', ['-c', steps], { stdio: 'ignore' })
}
