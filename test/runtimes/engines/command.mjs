/* Bun and Deno: programs that import the installed package as Node does, under the condition `node`. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const packages = join(import.meta.dirname, '..', 'node_modules')

export const bun = async (consumer) => run(binary('@oven', 'bun-', 'bin/bun'), ['run', 'main.mjs'], consumer)

export const denoFlags = ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual']
export const deno = async (consumer) => run(binary('@deno', '', 'deno'), [...denoFlags, 'main.mjs'], consumer)

/** The program in the package for this platform, where npm has put it. */
export function binary(scope, start, path) {
  const folder = join(packages, scope)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(start)) : []
  const found = names.map((name) => join(folder, name, path)).find((file) => existsSync(file))
  if (found === undefined)
    throw new Error(`${scope} has no program for this platform. Run: npm ci --prefix test/runtimes`)
  return found
}

function run(program, args, consumer) {
  writeFileSync(
    join(consumer, 'main.mjs'),
    `import { outcome } from './outcome.mjs'\nconsole.log(JSON.stringify(await outcome()))\n`,
  )
  return JSON.parse(execFileSync(program, args, { cwd: consumer, encoding: 'utf8', timeout: 120_000 }))
}
