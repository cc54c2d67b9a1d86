import { Converter } from 'typedoc'
import manifest from '../package.json' with { type: 'json' }
import { entries } from '../rolldown.entries.mjs'

/** The name by which an entry point is imported, by its source: `adapters/koa` is `headgate/koa`. */
const names = new Map(
  Object.entries(entries).map(([name, source]) => [
    source.replace(/(\/index)?\.ts$/, ''),
    name === 'index' ? manifest.name : `${manifest.name}/${name}`,
  ]),
)

/** Names each module of the reference as users import it. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) module.name = names.get(module.name) ?? module.name
  })
}
