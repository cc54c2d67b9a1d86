import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '.examples')

/** Writes the programs of docs/frameworks.md that begin with their name, such as `// nest.ts`, so that the tests import them. */
export function writeRecipes() {
  const page = readFileSync(join(import.meta.dirname, '../../docs/frameworks.md'), 'utf8')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [, name, code] of page.matchAll(/^```typescript\n\/\/ ([\w-]+\.ts)\n(.*?)^```$/gms)) {
    writeFileSync(join(folder, name), code)
  }
}
