/*
 * Runs the unit and HTTP tests on other versions of Node: `npm run test:nodes`. It plays one beside the version that runs this, in
 * turn from day to day (HEADGATE_SEED=20261123 plays that of another day), and with HEADGATE_IN_DEPTH=true every version that
 * the package supports, from the lowest one. On the versions whose turn it is not, it plays the tests of how responses end, which is where
 * versions differ. Arguments choose versions: `npm run test:nodes -- 22 26`.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const here = import.meta.dirname
const every = ['20', '22', '24', '26']
const day = Number(process.env.HEADGATE_SEED ?? new Date().toISOString().slice(0, 10).replaceAll('-', ''))

const ends = ['http/when-ended', 'http/slow-readers', 'http/ends']

/** @returns {readonly (readonly [version: string, files: readonly string[]])[]} */
function chosen() {
  const whole = (versions) => versions.map((version) => [version, []])
  if (process.argv.length > 2) return whole(process.argv.slice(2))
  if (process.env.HEADGATE_IN_DEPTH === 'true') return whole(every)
  const others = every.filter((version) => version !== process.versions.node.split('.')[0])
  return others.map((version, n) => [version, n === day % others.length ? [] : ends])
}

/** True if the tests pass on this version. */
function passes([version, files]) {
  const node = join(here, 'node_modules', `node-${version}`, 'bin', 'node')
  if (!existsSync(node)) {
    throw new Error(`There is no Node ${version} for this platform. Run npm ci --prefix test/runtimes, on Linux x64.`)
  }
  const vitest = join(here, '../../node_modules/vitest/vitest.mjs')
  // Programs that the tests start by name are of the same version.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}`, HEADGATE_IN_DEPTH: 'false' }
  const args = [vitest, 'run', '--project', 'unit', '--project', 'http', ...files]
  const { status } = spawnSync(node, args, { cwd: join(here, '../..'), env, stdio: ['ignore', 'inherit', 'inherit'] })
  console.log(`Node ${version}: ${status === 0 ? 'passed' : 'failed'}`)
  return status === 0
}

const failed = chosen().flatMap((each) => (passes(each) ? [] : each[0]))
console.log(failed.length === 0 ? 'All chosen versions of Node passed' : `Failed on Node ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
