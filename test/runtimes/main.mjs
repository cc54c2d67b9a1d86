/*
 * Replays the golden traces on the packed package in four runtimes, plays the contract of a store by the drivers of SQLite that runtimes
 * bring along, and attacks the servers of three of them: `npm run test:runtimes`. The last line counts what passed and failed.
 */
import { rmSync } from 'node:fs'
import { makeConsumer } from './consumer.mjs'
import { chromium } from './engines/chromium.mjs'
import { bun, deno } from './engines/command.mjs'
import { servers } from './engines/servers.mjs'
import { sqlite } from './engines/sqlite.mjs'
import { workerd } from './engines/workerd.mjs'
import { attack } from './hostile/attack.mjs'

const { home, consumer } = makeConsumer()
let failed = 0

function report(name, what, { checked, differences }) {
  if (differences.length > 0 || checked === 0) failed++
  console.log(`${name}: ${checked} ${what}, ${differences.length} differ`)
  for (const difference of differences.slice(0, 10)) console.log(`  ${difference}`)
}

const broken = (error) => ({ checked: 0, differences: [error.message] })

const engines = Object.entries({ chromium, bun, deno, workerd, ...sqlite })
for (const [name, run] of engines) report(name, 'results compared', await run(consumer).catch(broken))

async function attacked([name, start]) {
  const { port, close } = await start(consumer)
  const outcome = await attack(name, port).catch(broken)
  await close()
  return outcome
}

const started = Object.entries(servers)
const outcomes = await Promise.all(started.map((each) => attacked(each).catch(broken)))
for (const [n, outcome] of outcomes.entries()) report(started[n][0], 'attacks tried', outcome)

rmSync(home, { recursive: true, force: true })
console.log(`\n${engines.length + started.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
