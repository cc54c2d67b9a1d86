/* How many places the compiler names if there is one more kind of algorithm. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { declarationOf } from './sources.mjs'

/**
 * The places that have to know every kind: `file:line`. Empty while there is no type `Kind`, which is a union of texts: then a kind is
 * any text, and the compiler names nothing.
 */
export function placesOfKind(root, sources, folders) {
  const kind = declarationOf(sources, 'Kind')
  if (kind === undefined) return []
  if (kind.node.typeAnnotation?.type !== 'TSUnionType')
    throw new Error(
      `Kind in ${kind.file} is not written as a union. Change test/size/kinds.mjs, which adds a kind to it.`,
    )
  // Inside the root, so that the packages are found.
  const copy = join(root, 'node_modules', '.cache', `one-more-kind-${process.pid}`)
  try {
    for (const folder of folders) cpSync(join(root, folder), join(copy, folder), { recursive: true })
    const { end } = kind.node.typeAnnotation
    const { text } = sources.get(kind.file)
    writeFileSync(join(copy, kind.file), `${text.slice(0, end)} | 'one-more-kind'${text.slice(end)}`)
    return errorsIn(root, copy, folders)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function errorsIn(root, copy, folders) {
  const compilerOptions = { rootDir: '.', paths: { '#platform': ['./src/platform/node.ts'] } }
  mkdirSync(copy, { recursive: true })
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: folders }
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify(config))
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '--pretty', 'false'], { cwd: copy })
    return []
  } catch ({ stdout, stderr }) {
    const places = [...String(stdout).matchAll(/^(\S+)\((\d+),\d+\): error /gm)].map(
      ([, file, line]) => `${file}:${line}`,
    )
    if (places.length === 0) throw new Error(`The compiler failed: ${stdout}${stderr}`)
    return [...new Set(places)]
  }
}
