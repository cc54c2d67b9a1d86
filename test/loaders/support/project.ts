import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const home = join(import.meta.dirname, '..')
const { exports } = JSON.parse(readFileSync(join(home, 'node_modules/headgate/package.json'), 'utf8'))

/** The entry points of the installed package, by the names that a program imports. */
export const entries: readonly string[] = Object.keys(exports)
  .filter((subpath) => !subpath.endsWith('.json'))
  .map((subpath) => subpath.replace('.', 'headgate'))

/** Every package that `loaders` has installed. */
export const packages: string = join(home, 'node_modules')

/** Writes a small project below `place`, where it finds the installed packages. Returns its folder. */
export function project(name: string, files: Record<string, string | object>, place: string = home): string {
  const folder = join(place, '.projects', name)
  rmSync(folder, { recursive: true, force: true })
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), typeof content === 'string' ? content : JSON.stringify(content, undefined, 2))
  }
  return folder
}

/** The settings of the test runner that runs this are none of the project's. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV|NODE_OPTIONS)/.test(name)),
)

/** Runs a program in a project. Returns what it prints, and throws that too if the program fails. */
export function run(command: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): string {
  const options: ExecFileSyncOptions = { cwd, env: { ...environment, ...env }, stdio: ['ignore', 'pipe', 'pipe'] }
  try {
    return execFileSync(command, args, { ...options, encoding: 'utf8' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}
