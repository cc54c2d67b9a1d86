import { existsSync } from 'node:fs'
import { join } from 'node:path'
import manifest from './package.json' with { type: 'json' }

const root = import.meta.dirname
const sourceOf = { index: 'src/index.ts', http: 'src/http.ts', otel: 'src/telemetry/index.ts' }

/** The source of an entry point: the file or the folder of its name, in one of three places. */
function find(name) {
  const places = ['src', 'src/stores', 'adapters'].map((folder) => join(folder, name))
  const found = places
    .flatMap((place) => [`${place}.ts`, join(place, 'index.ts')])
    .find((file) => existsSync(join(root, file)))
  if (found === undefined) throw new Error(`No source for the entry point ${name}. Name it in rolldown.entries.mjs.`)
  return found
}

/** The entry points of `exports` by their names, each with its source: `{ index: 'src/index.ts', express: 'adapters/express.ts' }`. */
export const entries = Object.fromEntries(
  Object.keys(manifest.exports)
    .filter((subpath) => !subpath.endsWith('.json'))
    .map((subpath) => (subpath === '.' ? 'index' : subpath.slice(2)))
    .map((name) => [name, sourceOf[name] ?? find(name)]),
)
