import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Makes a folder in which the packed package is installed, beside the program that replays the traces. */
export function makeConsumer() {
  const home = mkdtempSync(join(tmpdir(), 'headgate-runtimes-'))
  const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const [{ filename }] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', home], root))
  const consumer = join(home, 'consumer')
  mkdirSync(consumer)
  const manifest = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: { headgate: `file:../${filename}` },
  }
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(manifest))
  npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'], consumer)
  for (const file of ['replay.mjs', 'fetch-handler.mjs', 'hostile/app.mjs', 'sqlite-drivers.mjs'])
    copyFileSync(join(import.meta.dirname, file), join(consumer, basename(file)))
  writeFileSync(join(consumer, 'traces.json'), JSON.stringify(traces()))
  writeFileSync(
    join(consumer, 'outcome.mjs'),
    `import { replay } from './replay.mjs'
import scripts from './traces.json' with { type: 'json' }
export const outcome = (dispatch) => replay(scripts, dispatch)
`,
  )
  return { home, consumer }
}

/** All golden traces, as `{ config, operations }`. */
function traces() {
  const folder = join(root, 'test', 'golden')
  return readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .flatMap((file) => scriptsOf(readFileSync(join(folder, file), 'utf8')))
}

function scriptsOf(text) {
  const scripts = []
  for (const line of text.trim().split('\n').slice(1)) {
    const record = JSON.parse(line)
    if (record.type === 'config') scripts.push({ config: record, operations: [] })
    else scripts.at(-1).operations.push(record)
  }
  return scripts
}
