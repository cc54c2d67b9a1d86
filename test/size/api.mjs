/* What the entry points export: how many names, and every signature in one text. */
import { isolatedDeclarationSync } from 'rolldown/experimental'
import { resolved, sourceOf, without } from './sources.mjs'

const isTypeAlone = /^TS(Interface|TypeAlias)Declaration$/

/**
 * @typedef {{ file?: string, from?: string, local: string, asType: boolean }} Export a declaration of a file, or a name from another package
 */

/** What a file exports, by name. @returns {Map<string, Export>} */
function exportsOf(sources, file) {
  const { module } = sources.get(file)
  const found = new Map()
  for (const entry of module.staticExports.flatMap(({ entries }) => entries)) {
    const { moduleRequest, importName, exportName, localName, isType } = entry
    if (moduleRequest !== null && importName.kind === 'AllButDefault') {
      for (const [name, each] of exportsOf(sources, resolved(file, moduleRequest.value))) {
        if (name !== 'default') found.set(name, each)
      }
      continue
    }
    const name = exportName.name ?? 'default'
    const target =
      moduleRequest === null
        ? own(sources, file, localName.name)
        : from(sources, file, moduleRequest.value, importName.name)
    // The parser calls the declaration of an interface a type too. That is what it is.
    found.set(name, { ...target, asType: target.asType || (isType && moduleRequest !== null) })
  }
  return found
}

/** A name of this file, which may be imported. @returns {Export} */
function own(sources, file, local) {
  for (const { moduleRequest, entries } of sources.get(file).module.staticImports) {
    const entry = entries.find(({ localName }) => localName.value === local)
    if (entry === undefined) continue
    const found = from(sources, file, moduleRequest.value, entry.importName.name ?? 'default')
    return { ...found, asType: found.asType || entry.isType }
  }
  return { file, local, asType: false }
}

/** @returns {Export} */
function from(sources, file, path, name) {
  const target = resolved(file, path)
  if (target === undefined) return { from: path, local: name, asType: false }
  const found = exportsOf(sources, target).get(name)
  if (found === undefined) throw new Error(`${file} exports ${name}, which ${target} does not export.`)
  return found
}

/** The declarations of a file, by name: several for an overloaded function. */
function declarationsOf(file, text) {
  const { code, errors } = isolatedDeclarationSync(file, text, {})
  if (errors.length > 0) throw new Error(`${file} has no declarations: ${errors[0].message}`)
  const { program } = sourceOf(file.replace('.ts', '.d.ts'), code)
  const found = new Map()
  for (const statement of program.body) {
    const node = statement.declaration ?? statement
    const { name } = node.id ?? node.declarations?.[0].id ?? {}
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), { type: node.type, text: textOf(node, code) }])
  }
  return found
}

/** The text of a declaration, without what is private. */
function textOf(node, code) {
  const isPrivate = ({ accessibility, key }) => accessibility === 'private' || key?.type === 'PrivateIdentifier'
  const left = without(code.slice(0, node.end), node.body?.body?.filter?.(isPrivate) ?? [])
  const lines = left
    .slice(node.start)
    .replace(/^(declare|export) /, '')
    .split('\n')
  return lines.filter((line) => line.trim() !== '').join('\n')
}

/**
 * The exports of each entry point.
 * @param {Record<string, string>} entries the source of each
 * @returns {{ entry: string, names: { name: string, value: boolean, id: string, text: string }[] }[]}
 */
export function publicNames(sources, entries) {
  const known = new Map()
  const declared = (file) => {
    if (!known.has(file)) known.set(file, declarationsOf(file, sources.get(file).bare))
    return known.get(file)
  }
  return Object.entries(entries).map(([entry, file]) => ({
    entry,
    names: [...exportsOf(sources, file)].map(([name, { from, file, local, asType }]) => {
      if (from !== undefined)
        return { name, value: !asType, id: `${from} ${local}`, text: `import { ${local} } from '${from}'` }
      const declarations = declared(file).get(local)
      if (declarations === undefined) throw new Error(`${file} exports ${local} without a declaration.`)
      const value = !asType && declarations.some(({ type }) => !isTypeAlone.test(type))
      return { name, value, id: `${file} ${local}`, text: declarations.map(({ text }) => text).join('\n') }
    }),
  }))
}

/** Every exported signature. A name that an entry point shares with one before it is only named. */
export function apiReport(all, packageName) {
  const seen = new Map()
  const sections = all.map(({ entry, names }) => {
    const title = entry === 'index' ? packageName : `${packageName}/${entry}`
    const inOrder = [...names].sort((a, b) => (a.name < b.name ? -1 : 1))
    const shared = inOrder.filter(({ name, id }) => seen.has(`${name} ${id}`))
    const own = inOrder.filter((each) => !shared.includes(each))
    for (const { name, id } of own) seen.set(`${name} ${id}`, title)
    const values = names.filter(({ value }) => value).length
    return [
      `## ${title}`,
      '',
      `${values} values and ${names.length - values} types.`,
      '',
      ...[...new Set(shared.map(({ name, id }) => seen.get(`${name} ${id}`)))].flatMap((other) => {
        const list = shared
          .filter(({ name, id }) => seen.get(`${name} ${id}`) === other)
          .map(({ name }) => `\`${name}\``)
        return [`As in ${other}: ${list.join(', ')}.`, '']
      }),
      ...(own.length === 0 ? [] : ['```ts', ...own.map(signature), '```', '']),
    ].join('\n')
  })
  return `# What the entry points export\n\nWritten by \`npm run check:size -- --record\`. A difference is a change of the interface.\n\n${sections.join('\n')}`
}

function signature({ name, id, value, text }) {
  const local = id.split(' ').at(-1)
  const notes = [
    ...(local === name ? [] : [`as ${name}`]),
    ...(value || /^(interface|type) /.test(text) ? [] : ['the type alone']),
  ]
  return `${notes.length === 0 ? '' : `// ${notes.join(', ')}\n`}${text}`
}
