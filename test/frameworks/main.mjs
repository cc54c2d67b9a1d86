/*
 * Tests the packed package in whole applications of frameworks: `npm run test:frameworks`. Arguments go to vitest, so
 * `node test/frameworks/main.mjs nest/graphql` runs the files of that name, after a build.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeRecipes } from './write-recipes.mjs'

const here = import.meta.dirname
const root = join(here, '../..')
const quietly = ['--no-save', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']

/** Installs the packed package beside the frameworks: its imports are theirs, and it has only what a user gets. */
function installPacked() {
  const home = mkdtempSync(join(tmpdir(), 'headgate-frameworks-'))
  const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const [{ filename }] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', home], root))
  npm(['install', ...quietly, join(home, filename)], here)
  rmSync(home, { recursive: true, force: true })
}

/** Runs a program of Node here, and returns its exit code. */
function run(...args) {
  return spawnSync(process.execPath, args, { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] }).status ?? 1
}

installPacked()
writeRecipes()
const check = (project) => run(join(root, 'node_modules/typescript/bin/tsc'), '-p', project)
const types = check('tsconfig.json') || check('contract/tsconfig.json')
const tests = run(join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2))
process.exitCode = types || tests
