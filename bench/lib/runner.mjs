import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { machine, redisVersion, versions } from './machine.mjs'
import { summary } from './statistics.mjs'

const program = fileURLToPath(new URL('case.mjs', import.meta.url))
const run = promisify(execFile)

/** Runs one case in a process of its own and returns its figures. */
async function measure(suite, { id, flags = [] }) {
  const { stdout } = await run(process.execPath, ['--expose-gc', ...flags, program, suite.name, id], {
    timeout: 600_000,
    killSignal: 'SIGKILL',
  })
  return JSON.parse(stdout)
}

function summaries(all) {
  const names = new Set(all.flatMap((one) => Object.keys(one)))
  return Object.fromEntries([...names].map((name) => [name, summary(all.map((one) => one[name] ?? 0))]))
}

/**
 * Runs all rounds of the cases: A B C, then A B C again, so a busy moment of the machine does not affect one case alone.
 * @param cases some of the suite's
 * @param terms a round begins only if it is likely to end within `budget` milliseconds. The first one always begins
 */
export async function runSuite(suite, cases, { rounds, budget = Infinity }, progress = (_text) => {}) {
  const samples = new Map(cases.map((each) => [each, []]))
  const started = Date.now()
  const before = machine()
  let round = 1
  for (; round <= rounds && ((Date.now() - started) * round) / Math.max(1, round - 1) <= budget; round++) {
    for (const [each, all] of samples) {
      progress(`${suite.name}: round ${round} of ${rounds}, ${each.id}`)
      all.push(await measure(suite, each))
    }
  }
  return {
    suite: suite.name,
    title: suite.title,
    at: new Date(started).toISOString(),
    seconds: Math.round((Date.now() - started) / 1000),
    rounds: round - 1,
    machine: before,
    versions: suite.redis ? { ...versions(), 'redis-server': redisVersion() } : versions(),
    rows: Array.from(samples, ([{ workload, target, kind, x }, all]) => ({
      workload,
      target,
      kind,
      ...(x === undefined ? {} : { x }),
      metrics: summaries(all),
    })),
  }
}
