/*
 * Runs hostile inputs against the code that reads what strangers send.
 *
 *     npm run fuzz -- --seconds 60 --seed 7
 *     npm run fuzz -- model --steps 2000000 --server-steps 30000 --seed 7
 *
 * The second form compares limiters in memory and on real servers with a model (test/model/), step by step, and holds every
 * answer under random plans to what it promised.
 *
 * Each input is made from a number of its own, so `--seed <that number> --one <target>` plays it again alone. The run fails
 * if a target breaks a promise, or takes longer for one input than a server can spare.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    one: { type: 'string' },
    steps: { type: 'string', default: '2000000' },
    'server-steps': { type: 'string', default: '30000' },
  },
})
const seconds = Number(values.seconds)
const seed = Number(values.seed ?? Date.now() % 1e9)
if (!(seconds > 0) || !Number.isSafeInteger(seed)) throw new Error('--seconds and --seed take numbers')
if (positionals[0] === 'model') process.exit(compareWithModel())
/** For one input of up to 100 kB on a slow machine, in milliseconds of CPU time. Other work on the machine does not count. */
const slowest = 1000

const { targets, randomOf } = await loadTargets()
console.log(`seed ${seed}, ${seconds} s`)
if (values.one !== undefined) await targets.find(({ name }) => name === values.one).run(randomOf(seed))
else for (const target of targets) await fuzz(target, (seconds * 1000) / targets.length)

async function fuzz({ name, run }, milliseconds) {
  let count = 0
  const end = performance.now() + milliseconds
  for (let before = used(); performance.now() < end; count++) {
    const input = (seed + count * 2654435761) % 2 ** 48
    try {
      await run(randomOf(input))
    } catch (error) {
      console.error(`${name}: input ${count} failed. Play it again: --seed ${input} --one '${name}'`)
      throw error
    }
    const after = used()
    if (after - before > slowest) throw new Error(`${name}: --seed ${input} took ${Math.round(after - before)} ms`)
    before = after
  }
  console.log(`${name.padEnd(16)} ${count} inputs`)
}

/** The CPU time of this process so far, in milliseconds. */
function used() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Plays as many steps on the model and on limiters. Returns the exit code. */
function compareWithModel() {
  const { steps, 'server-steps': serverSteps } = values
  console.log(`seed ${seed}, ${steps} steps in memory, ${serverSteps} on each server`)
  const env = { ...process.env, HEADGATE_STEPS: steps, HEADGATE_SERVER_STEPS: serverSteps, HEADGATE_SEED: `${seed}` }
  const vitest = ['vitest', 'run', '--project', 'long', 'test/model/model.long.test.ts']
  return spawnSync('npx', vitest, { stdio: 'inherit', env }).status ?? 1
}

/** The targets are TypeScript on the sources, so they are bundled first. */
async function loadTargets() {
  const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
  const dir = await mkdtemp(join(tmpdir(), 'headgate-fuzz-'))
  try {
    const bundle = await rolldown({
      input: path('targets.ts'),
      platform: 'node',
      resolve: { alias: { '#platform': path('../../src/platform/node.ts') } },
    })
    await bundle.write({ dir, format: 'esm', entryFileNames: 'targets.mjs' })
    return await import(pathToFileURL(join(dir, 'targets.mjs')).href)
  } finally {
    await rm(dir, { recursive: true })
  }
}
