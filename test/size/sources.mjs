/*
 * The sources of the package: their lines, and which file imports which. An import through the index.ts of a folder is one of the files that
 * have the names: a bundle has nothing else of that folder.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'

const platform = 'src/platform/node.ts'

/**
 * @typedef {{ name: string, value: boolean }} Name what is imported, and whether it is more than a type
 * @typedef {{ file: string, value: boolean, names?: Name[] }} Import a file, whether more than its types is imported, and which names; all without `names`
 * @typedef {{ text: string, bare: string, program: object, module: object, code: number, comments: number, imports: Import[] }} Source
 */

/** Each source file of these folders, by its path from the root. @returns {Map<string, Source>} */
export function readSources(root, folders) {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  const sources = files.filter((file) => file.endsWith('.ts')).sort()
  const found = new Map(sources.map((file) => [file, sourceOf(file, readFileSync(join(root, file), 'utf8'))]))
  for (const source of found.values()) source.imports = source.imports.flatMap((each) => behindDoors(found, each))
  return found
}

/** True for a file that only hands on what others export. */
function isDoor({ program }) {
  return program.body.every(({ type, source }) => type.startsWith('Export') && source)
}

/** The imports that one import stands for. @returns {Import[]} */
function behindDoors(sources, each) {
  const target = sources.get(each.file)
  if (each.names === undefined || target === undefined || !isDoor(target)) return [each]
  return each.names.flatMap(({ name, value }) => {
    const entry = target.module.staticExports
      .flatMap(({ entries }) => entries)
      .find(({ exportName, moduleRequest }) => moduleRequest !== null && (exportName.name ?? 'default') === name)
    if (entry === undefined) return [{ file: each.file, value }]
    const names = [{ name: entry.importName.name ?? 'default', value: value && !entry.isType }]
    return behindDoors(sources, { file: resolved(each.file, entry.moduleRequest.value), value: names[0].value, names })
  })
}

/** @returns {Source} */
export function sourceOf(file, text) {
  const { program, module, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0].message}`)
  const bare = without(text, comments)
  const code = linesOf(bare)
  return { text, bare, program, module, code, comments: linesOf(text) - code, imports: importsOf(file, text, module) }
}

/** How many lines have anything in them. */
function linesOf(text) {
  return text.split('\n').filter((line) => line.trim() !== '').length
}

/** The text without these ranges, in the same lines. */
export function without(text, ranges) {
  let [left, from] = ['', 0]
  for (const { start, end } of ranges) {
    left += text.slice(from, start) + text.slice(start, end).replace(/[^\n]/g, '')
    from = end
  }
  return left + text.slice(from)
}

/** @returns {Import[]} */
function importsOf(file, text, { staticImports, staticExports, dynamicImports }) {
  const found = [
    ...[...staticImports, ...staticExports].flatMap(({ moduleRequest, entries }) => {
      const path = (moduleRequest ?? entries.find((entry) => entry.moduleRequest)?.moduleRequest)?.value
      if (path === undefined) return []
      const named = entries.every(({ importName }) => importName.kind === 'Name' || importName.kind === 'Default')
      const names = entries.map(({ importName, isType }) => ({ name: importName.name ?? 'default', value: !isType }))
      const value = entries.length === 0 || names.some((each) => each.value)
      return [{ path, value, ...(named && entries.length > 0 && { names }) }]
    }),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => ({
      path: text.slice(start + 1, end - 1),
      value: true,
    })),
  ]
  return found.flatMap(({ path, ...rest }) => {
    const imported = resolved(file, path)
    return imported === undefined ? [] : [{ file: imported, ...rest }]
  })
}

/** The file of this package that a file imports by such a path; undefined for another package. */
export function resolved(file, path) {
  if (path === '#platform') return platform
  return path.startsWith('.') ? join(dirname(file), path) : undefined
}

/** The file, and all that it imports as more than types, directly or not: what a bundle of it is made of. */
export function reached(sources, file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const { file: imported, value } of sources.get(file).imports) if (value) reached(sources, imported, found)
  return found
}

/** How many files the longest chain of imports has, without those of types alone. */
export function longestChain(sources) {
  const known = new Map()
  const depth = (file) => {
    const below = () => sources.get(file).imports.map((each) => (each.value ? depth(each.file) : 0))
    if (!known.has(file)) known.set(file, 1 + Math.max(0, ...below()))
    return known.get(file)
  }
  return Math.max(...[...sources.keys()].map(depth))
}

/** How many files only one other file imports. */
export function withOneImporter(sources) {
  const importers = new Map()
  for (const [file, { imports }] of sources) {
    for (const { file: imported } of imports) importers.set(imported, (importers.get(imported) ?? new Set()).add(file))
  }
  return [...importers.values()].filter(({ size }) => size === 1).length
}

/** The declaration of a type or an interface among all sources; undefined if there is none. */
export function declarationOf(sources, name) {
  for (const [file, { program }] of sources) {
    for (const statement of program.body) {
      const node = statement.declaration ?? statement
      if (/^TS(Interface|TypeAlias)Declaration$/.test(node.type) && node.id.name === name) return { file, node }
    }
  }
  return undefined
}

/** How many members an interface has, without those that it inherits. */
export function membersOf(sources, name) {
  const found = declarationOf(sources, name)
  if (found?.node.type !== 'TSInterfaceDeclaration') throw new Error(`There is no interface ${name}.`)
  return found.node.body.body.length
}
