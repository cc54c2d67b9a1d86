/* The drivers of SQLite that come with a runtime, and better-sqlite3, which is compiled for minutes: only HEADGATE_IN_DEPTH=true. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { binary } from './command.mjs'

const nodes = ['22', '24', '26'].map((version) => [
  `node:sqlite of Node ${version}`,
  (consumer) =>
    play(join(import.meta.dirname, '../node_modules', `node-${version}`, 'bin', 'node'), 'node:sqlite', consumer),
])

const compiled = [
  'better-sqlite3',
  (consumer) => {
    execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', 'better-sqlite3@12'], {
      cwd: consumer,
    })
    return play(process.execPath, 'better-sqlite3', consumer)
  },
]

export const sqlite = Object.fromEntries([
  ...nodes,
  ['bun:sqlite', (consumer) => play(binary('@oven', 'bun-', 'bin/bun'), 'bun:sqlite', consumer)],
  ...(process.env.HEADGATE_IN_DEPTH === 'true' ? [compiled] : []),
])

async function play(program, driver, consumer) {
  const output = execFileSync(program, ['sqlite-drivers.mjs', driver], {
    cwd: consumer,
    encoding: 'utf8',
    timeout: 300_000,
  })
  return JSON.parse(output.trim().split('\n').at(-1))
}
