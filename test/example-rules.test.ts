/* What every example keeps, so that whoever copies it is not surprised: in the pages, the programs of the site, the apps and JSDoc. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url)
/** Packages of their own, what is made from the sources, and the cases of a test suite that users run. */
const others = /^(node_modules|\.\w+|reference|observed|testing|test)$/

/** The files of a folder and of the folders in it. */
function filesIn(folder: string): string[] {
  return readdirSync(new URL(folder, root), { withFileTypes: true }).flatMap((entry) => {
    if (others.test(entry.name)) return []
    return entry.isDirectory() ? filesIn(`${folder}${entry.name}/`) : [`${folder}${entry.name}`]
  })
}

const files = ['docs/', 'examples/', 'src/', 'adapters/']
  .flatMap(filesIn)
  .filter((file) => /\.(md|mjs|ts)$/.test(file) && file !== 'docs/typedoc-options.mjs') // its limits are asked nothing

interface Example {
  readonly place: string
  readonly code: string
}

/** The code of a file that a reader may copy: the blocks of a page, the comments of a source, or a whole program. */
function examplesOf(file: string): Example[] {
  const text = readFileSync(new URL(file, root), 'utf8')
  const found = file.endsWith('.mjs')
    ? [{ index: 0, 0: text }]
    : [...text.matchAll(file.endsWith('.md') ? /^```(?:js|ts|javascript|typescript)\n.*?^```$/gms : /\/\*\*.*?\*\//gs)]
  return found.map(({ index, 0: code }) => ({ place: `${file}:${text.slice(0, index).split('\n').length}`, code }))
}

const examples = ['README.md', ...files].flatMap(examplesOf)

test('a limit below 10 is no sliding window: a client may have to wait for twice its window', () => {
  // A penalty decides by itself how long a client waits.
  const short = /(['"`])[1-9]\/[\d.]*(?:ms|[smhdwy])\1(?!.*penalty)|rateLimit\(\{[^}]*limit: [1-9], window/
  const wrong = examples.filter(({ code }) => short.test(code)).map(({ place, code }) => [place, short.exec(code)?.[0]])
  expect(wrong, "write '5/1m sliding-log'").toEqual([])
})

test('a limiter on a store of other programs too has a name', () => {
  const shared = /\b(redis|postgres|sqlite|memcached|compareAndSet|share)Store\(/
  const limiters = /(?:new RateLimiter|\brateLimit|\.forRoot)\((?:app, )?\{(?:[^{}]|\{[^{}]*\})*\}/g
  const wrong = examples
    .filter(({ place, code }) => shared.test(code) && !place.startsWith('docs/errors/')) // each of these runs
    .flatMap(({ place, code }) => [...code.matchAll(limiters)].map(([call]) => ({ place, call })))
    .filter(({ call }) => /\bstore\b/.test(call) && !/\bname\b/.test(call))
  expect(wrong, "write name: 'api', or the limiter throws HEADGATE_NAME").toEqual([])
})
