/*
 * Loads the packed package as projects of users do: `npm run test:loaders`. Plays a part, which the seed of the day chooses;
 * with HEADGATE_IN_DEPTH=true all of it. Arguments go to vitest, so `node test/loaders/main.mjs jest` runs the files of that
 * name, after a build.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const here = import.meta.dirname
const root = join(here, '../..')
const inDepth = process.env.HEADGATE_IN_DEPTH === 'true'
const quietly = ['--no-save', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

const home = mkdtempSync(join(tmpdir(), 'headgate-loaders-'))
const [{ filename }] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', home], root))
npm(['install', ...quietly, join(home, filename)], here)
// Next has packages of its own, with a compiler of 130 MB.
if (inDepth) {
  npm(['ci', '--loglevel=error'], join(here, 'next'))
  npm(['install', ...quietly, join(home, filename)], join(here, 'next'))
}
rmSync(home, { recursive: true, force: true })

const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: here,
  stdio: ['ignore', 'inherit', 'inherit'],
})
process.exitCode = status ?? 1
