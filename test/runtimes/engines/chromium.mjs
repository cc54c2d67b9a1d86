/* A page of headless Chromium: Debian's, driven by playwright-core, which brings no browser of its own. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromium as playwright } from 'playwright-core'
import { bundle } from './bundle.mjs'

const executablePath = '/usr/bin/chromium'
const quiet = ['background-networking', 'component-update', 'sync'].map((feature) => `--disable-${feature}`)
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', ...quiet]

export async function chromium(consumer) {
  install()
  const code = await bundle(consumer, 'outcome.mjs', 'iife', ['browser'])
  const browser = await playwright.launch({ executablePath, headless: true, args })
  try {
    const page = await browser.newPage()
    return await page.evaluate(`${code}\nprogram.outcome()`)
  } finally {
    await browser.close()
  }
}

/** Installs Chromium in the CI, where this runs as root. Elsewhere the error says how to. */
function install() {
  if (existsSync(executablePath)) return
  const steps = 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium'
  if (process.getuid?.() !== 0 || process.env.CI === undefined) throw new Error(`Chromium is missing. Run: ${steps}`)
  console.log(`Installing Chromium: ${steps}`)
  execFileSync('sh', ['-c', steps], { stdio: 'ignore' })
}
