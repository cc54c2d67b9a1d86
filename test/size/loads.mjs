/* What a process loads and runs of the built package. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'rolldown/utils'

/** The files of this package that are loaded with a bundle, and their bytes. Other packages, and what is imported later, are left out. */
export function loaded(root, bundle, platform = 'dist/platform/node.js') {
  const files = new Set()
  const visit = (file) => {
    if (files.has(file)) return
    files.add(file)
    const { staticImports, staticExports } = parseSync(file, readFileSync(join(root, file), 'utf8')).module
    const requests = [...staticImports, ...staticExports.flatMap(({ entries }) => entries)]
    for (const path of requests.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])) {
      if (path === '#platform') visit(platform)
      else if (path.startsWith('.')) visit(join(dirname(file), path))
    }
  }
  visit(bundle)
  return { files: files.size, bytes: [...files].reduce((sum, file) => sum + statSync(join(root, file)).size, 0) }
}

const rounds = 7

/** The median time of the first import of each package in a process of its own, in milliseconds. The packages take turns. */
export function importTimes(root, packages) {
  const times = packages.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [n, name] of packages.entries()) {
      const program = `const start = performance.now(); await import('${name}'); console.log(performance.now() - start)`
      times[n].push(Number(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: root })))
    }
  }
  return times.map((each) => each.sort((a, b) => a - b)[rounds >> 1])
}
