import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '.examples')
const docs = join(import.meta.dirname, '../../docs')

/**
 * Writes the programs of docs/ that begin with their name, such as `// nest.ts`, so that the tests import them. They import files of
 * examples/redis, which the pages show too.
 */
export function writeRecipes() {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const page of pages()) {
    const programs = page.matchAll(
      /^```typescript(?: \[.+?\])?\n\/\/ (?:examples\/redis\/)?([\w-]+\.ts)\n(.*?)^```$/gms,
    )
    for (const [, name, code] of programs) writeFileSync(join(folder, name), code)
  }
}

function pages() {
  const folders = ['.', 'frameworks', 'recipes'].map((name) => join(docs, name))
  return folders.flatMap((path) =>
    readdirSync(path)
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(join(path, name), 'utf8')),
  )
}
