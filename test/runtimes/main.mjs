/*
 * Replays the golden traces on the packed package in four runtimes, and plays the contract of a store by the drivers of SQLite that
 * runtimes bring along: `npm run test:runtimes`. The last line counts what passed and failed.
 */
import { rmSync } from 'node:fs'
import { makeConsumer } from './consumer.mjs'
import { chromium } from './engines/chromium.mjs'
import { bun, deno } from './engines/command.mjs'
import { sqlite } from './engines/sqlite.mjs'
import { workerd } from './engines/workerd.mjs'

const { home, consumer } = makeConsumer()
let failed = 0
const engines = Object.entries({ chromium, bun, deno, workerd, ...sqlite })
for (const [name, run] of engines) {
  const { checked, differences } = await run(consumer).catch((error) => ({ checked: 0, differences: [error.message] }))
  if (differences.length > 0 || checked === 0) failed++
  console.log(`${name}: ${checked} results compared, ${differences.length} differ`)
  for (const difference of differences.slice(0, 10)) console.log(`  ${difference}`)
}
rmSync(home, { recursive: true, force: true })
console.log(`\n${engines.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
