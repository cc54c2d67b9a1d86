import { defineConfig } from 'rolldown'
import manifest from './package.json' with { type: 'json' }

/** The entry points of `exports`: the name of the bundle, and its source, which the declarations are named after. */
const doors = Object.values(manifest.exports)
  .filter((target) => typeof target === 'object')
  .map(({ types, default: bundle }) => [nameOf(bundle), types.replace('./dist/types/', '').replace('.d.ts', '.ts')])

function nameOf(bundle) {
  return bundle.replace('./dist/', '').replace('.js', '')
}

/** What a bundle imports by name. Everything else is bundled: to bundle a dependency, make it a devDependency. */
const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
const external = (id) => /^(node:|#platform$)/.test(id) || packages.some((name) => `${id}/`.startsWith(`${name}/`))

export default defineConfig({
  input: {
    ...Object.fromEntries(doors),
    'headgate-postgres': 'src/stores/postgres/print-schema.ts',
    'platform/node': 'src/platform/node.ts',
    'platform/web': 'src/platform/web.ts',
  },
  platform: 'neutral',
  external,
  output: {
    dir: 'dist',
    cleanDir: true,
    chunkFileNames: 'chunks/[name].js',
    // Readable as it is, so that stack traces need no source map. The declarations carry the comments.
    minify: false,
    comments: { legal: true, annotation: true, jsdoc: false },
  },
})
