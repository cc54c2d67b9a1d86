import { readFileSync } from 'node:fs'
import { defineConfig } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'
import manifest from './package.json' with { type: 'json' }
import { declarations } from './rolldown.declarations.mjs'
import { entries } from './rolldown.entries.mjs'

/** What a bundle imports by name. Everything else is bundled: to bundle a dependency, make it a devDependency. */
const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
const external = (id) =>
  /^(node:|cloudflare:|#platform$)/.test(id) || packages.some((name) => `${id}/`.startsWith(`${name}/`))

const platforms = Object.fromEntries(
  ['node', 'web', 'workerd'].map((name) => [`platform/${name}`, `src/platform/${name}.ts`]),
)
const absolute = (sources) =>
  Object.fromEntries(Object.entries(sources).map(([name, file]) => [name, `${import.meta.dirname}/${file}`]))

/** The licenses of the packages that a chunk contains. */
function licenses({ moduleIds }) {
  const folders = moduleIds.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(id)?.[0])
  const texts = [...new Set(folders)].filter(Boolean).map((folder) => readFileSync(`${folder}LICENSE`, 'utf8').trim())
  return texts.map((text) => `/*!\n${text}\n*/`).join('\n')
}

const readable = {
  // With the names of the sources, so that stack traces need no source map. The declarations have the comments.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  minifyInternalExports: false,
  comments: { legal: false, annotation: true, jsdoc: false },
  banner: licenses,
}

/** Ships the scripts of Redis without comments and indentation, as they are sent. */
const scripts = {
  name: 'scripts',
  transform: {
    filter: { id: /\/redis\/script\/.*\.ts$/ },
    handler: (code) => code.replace(/^ *--.*\n/gm, '').replace(/^ +/gm, ''),
  },
}

/** The statements of blocks, the cases of switches and the members of classes that `node` contains. */
function* statementsIn(node) {
  for (const [name, child] of Object.entries(node)) {
    if (typeof child !== 'object' || child === null) continue
    const isList = Array.isArray(child) && child.length > 1
    if (isList && (name === 'body' || name === 'cases' || node.type === 'SwitchCase')) yield* child
    yield* statementsIn(child)
  }
}

/** Gives each statement a line of its own, because Node and Jest print the line of an error. */
const lines = {
  name: 'lines',
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle).filter(({ type }) => type === 'chunk')) {
      const starts = Array.from(statementsIn(parseAst(chunk.code)), ({ start }) => start).sort((a, b) => a - b)
      const statements = [0, ...starts].map((start, n) => chunk.code.slice(start, starts[n]))
      chunk.code = statements.join('\n').trimStart()
    }
  },
}

/** Ships the JSON schema of policy files. */
const schema = {
  name: 'schema',
  generateBundle() {
    const text = readFileSync(`${import.meta.dirname}/src/policy-file/policies.schema.json`, 'utf8')
    this.emitFile({ type: 'asset', fileName: 'policies.schema.json', source: JSON.stringify(JSON.parse(text)) })
  },
}

/** Says that the files are CommonJS. Only a file outside of them can ask for `#platform`, which the first package.json defines. */
const commonJs = {
  name: 'commonjs-package',
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      const up = '../'.repeat(chunk.fileName.split('/').length)
      chunk.code = chunk.code.replace('require("#platform")', `require("${up}platform.cjs")`)
      // Jest cannot run import() in CommonJS. Workers need the one whose name is in a variable.
      chunk.code = chunk.code.replace(/\bimport\((["'`][^"'`]+["'`])\)/g, 'Promise.resolve().then(()=>require($1))')
    }
    this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' })
  },
}

const platformOfCommonJs = {
  name: 'platform-of-commonjs',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'platform.cjs', source: 'module.exports = require("#platform");\n' })
  },
}

/** Small modules that nearly every entry loads are one file. */
const codeSplitting = { groups: [{ name: 'common', test: /\/src\/common\// }] }

export default defineConfig([
  {
    input: { ...entries, ...platforms, 'headgate-postgres': 'src/stores/postgres/print-schema.ts' },
    platform: 'neutral',
    plugins: [scripts, lines, schema, platformOfCommonJs],
    external,
    output: { ...readable, codeSplitting, dir: 'dist', cleanDir: true, chunkFileNames: 'chunks/[name].js' },
  },
  {
    // For Jest, for bundlers, and for Node's `require` where it cannot load ES modules. Each file has the names of its ES module,
    // since the tarball is then an eighth smaller.
    input: { ...entries, ...platforms },
    platform: 'neutral',
    plugins: [scripts, lines, commonJs],
    external,
    output: {
      ...readable,
      comments: { legal: false, annotation: false, jsdoc: false },
      minify: { ...readable.minify, compress: { sequences: false, joinVars: false } },
      codeSplitting,
      format: 'cjs',
      exports: 'named',
      dir: 'dist/cjs',
      chunkFileNames: 'chunks/[name].js',
      footer: ({ exports }) =>
        exports.includes('module.exports') ? "module.exports = exports['module.exports'];" : '',
    },
  },
  {
    input: absolute(entries),
    plugins: declarations,
    external: (id) => !/^[./]/.test(id),
    output: {
      dir: 'dist/types',
      entryFileNames: '[name].cjs',
      chunkFileNames: 'chunks/[name].cjs',
      minifyInternalExports: false,
    },
  },
])
