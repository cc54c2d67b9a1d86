/*
 * Deletes the declarations that no entry point of the package reaches. The compiler writes one for every source file;
 * users need those that a public signature names.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

const root = join(import.meta.dirname, '..')
const folder = join(root, 'dist', 'types')
const needed = new Set()

function keep(file) {
  if (needed.has(file)) return
  needed.add(file)
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]/g)
  for (const [, path] of imports) keep(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
}

for (const target of Object.values(manifest.exports)) {
  if (typeof target === 'object') keep(join(root, target.types))
}

for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name)
  if (entry.isFile() && !needed.has(file)) rmSync(file)
}
