import { readFileSync } from 'node:fs'
import { Converter } from 'typedoc'

const { name: root, exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** The name by which an entry point is imported, by its source: `adapters/koa` is `headgate/koa`. */
const names = new Map(
  Object.entries(exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([subpath, { types }]) => [source(types), subpath.replace('.', root)]),
)

function source(types) {
  return types.replace('./dist/types/', '').replace(/(\/index)?\.d\.ts$/, '')
}

/** Names each module of the reference as users import it. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) module.name = names.get(module.name) ?? module.name
  })
}
