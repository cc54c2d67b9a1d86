/*
 * Makes the declarations that both module systems share. They are CommonJS (`.d.cts`), since an ES module may import
 * CommonJS in every version of TypeScript, and CommonJS may not import an ES module. So `require` and `import` give one
 * and the same type. Each entry point has a short `.d.mts` beside it, which exports the same names.
 */
import { dts } from 'rolldown-plugin-dts'

/** Frameworks that are ES modules. A CommonJS declaration may import their types only if it says so. */
const esModules = /^import (\{[^}]*\}) from ("(?:hono|h3|@hono\/|@nestjs\/)[^"]*");$/gm

/** The names of the source files, in comments. */
const sources = /^\n*\/\/ (?:src|adapters|node_modules)\/.*\n/gm

/** What a declaration adds to the types of such a framework. Only an ES module may. */
const additions = /^declare module ["']h3["'] \{\n[\s\S]*?^\}\n/gm

/** The names that a declaration exports, as its last statement lists them: `['rateLimit as default', 'MemoryStore']`. */
const exportList = /export \{ ([^}]*) \};\s*$/

/** The name by which a bundle says what `require` returns. Compilers below 5.6 cannot read it. */
const required = 'as "module.exports"'

function namesOf(code) {
  return exportList.exec(code)?.[1].split(', ') ?? []
}

/**
 * The declaration of a function that `require` returns: it can be called, and has all exports as its properties. The
 * function is the default export, which the declaration has to name by `declare function`.
 */
function callable(code, names) {
  const main = names.find((name) => name.endsWith(' as default')).replace(' as default', '')
  const list = names.map((name) => name.replace(/^type /, '')).join(', ')
  return code.replace(exportList, `declare namespace ${main} {\n  export { ${list} };\n}\nexport = ${main};\n`)
}

/** What the ES module exports of a declaration. */
function reexports(names, path) {
  if (names === undefined) return `export * from '${path}';\n`
  const [main] = names.find((name) => name.endsWith(' as default')).split(' ')
  const list = names.filter((name) => !name.endsWith(' as default')).concat(`${main} as default`)
  return `export { ${list.join(', ')} } from '${path}';\n`
}

/** Moves what a declaration adds to an ES module into the ES module beside it, which the declaration imports. */
function withoutAdditions(code, path) {
  const moved = code.match(additions)
  if (moved === null) return [code, '']
  const imports = code.match(/^import .*;$/gm)
  const rest = `import type {} from '${path}' with { "resolution-mode": "import" };\n${code.replace(additions, '')}`
  return [rest, `${[...imports, ...moved].join('\n')}`]
}

const shared = {
  name: 'shared-declarations',
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      const imported = chunk.code
        .replace(sources, '')
        .replace(esModules, 'import type $1 from $2 with { "resolution-mode": "import" };')
      const path = `./${chunk.fileName.split('/').at(-1).replace('.d.cts', '')}`
      const [code, added] = withoutAdditions(imported, `${path}.mjs`)
      chunk.code = code
      if (!chunk.isEntry) continue
      const all = namesOf(code)
      const isCallable = all.some((name) => name.endsWith(required))
      const names = all.filter((name) => !name.endsWith(required))
      if (isCallable) chunk.code = callable(code, names)
      const source = added + reexports(isCallable ? names : undefined, `${path}.cjs`)
      this.emitFile({ type: 'asset', fileName: chunk.fileName.replace('.d.cts', '.d.mts'), source })
    }
  },
}

export const declarations = [dts({ oxc: true, emitDtsOnly: true, tsconfig: false }), shared]
