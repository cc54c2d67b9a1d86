import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inDepth } from './support/depth.ts'

/*
 * The package as a user gets it: packed, installed outside of this repository with npm, and used through `exports` only.
 * `npm test` has built dist just before, so packing runs no scripts.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const subpaths = Object.keys(manifest.exports).map((subpath) => subpath.replace('.', manifest.name))
/** Its classes extend those of Nest's packages, which `npm run test:frameworks` has, and tests this entry point with. */
const nest = `${manifest.name}/nest`
const modules = subpaths.filter((subpath) => !subpath.endsWith('.json') && subpath !== nest)
/** What stands in for a CommonJS package: `require` gives what that package gives. */
const compats = modules.filter((subpath) => /\/compat\/(express|fastify|koa)-/.test(subpath))
/** The entry points that import their framework also at run time. Of the others, only the types need it. */
const besideFramework = ['/hono', '/h3', '/otel']
const standalone = modules.filter((subpath) => ![...besideFramework, ...compats].some((name) => subpath.endsWith(name)))

const home = mkdtempSync(join(tmpdir(), 'headgate-package-'))
const consumer = join(home, 'consumer')

/** Without the settings of the `npm test` that runs this: the consumer is another package. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_)/.test(name)))

function run(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

/** Runs a program in a file of its own and parses the JSON that it prints. */
function output(file: string, lines: readonly string[], flags: readonly string[] = []): unknown {
  writeFileSync(join(consumer, file), `${lines.join('\n')}\n`)
  return JSON.parse(run(process.execPath, [...flags, file], consumer))
}

let packed: { filename: string; size: number; unpackedSize: number; files: { path: string; size: number }[] }

beforeAll(() => {
  mkdirSync(consumer)
  packed = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], root))[0]
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true }))
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock']
  run('npm', ['install', ...quietly, join(home, packed.filename)], consumer)
}, 120_000)

afterAll(() => rmSync(home, { recursive: true, force: true }))

describe('the tarball', () => {
  test('has the bundles, their declarations, the license and the texts, and nothing else', () => {
    const files = packed.files.map(({ path }) => path)
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
    const built = /^dist\/(.*\.js|platform\.cjs|cjs\/package\.json|policies\.schema\.json|types\/.*\.d\.[cm]ts)$/
    const others = files.filter((file) => !built.test(file) && !/^(LICENSE|[A-Z]+\.md|package\.json)$/.test(file))
    expect(others).toEqual([])
  })

  test('is at most 632 kB, and unpacks to 2,585 kB, of which ES modules and declarations are 1,477 kB', () => {
    const modules = packed.files.filter(({ path }) => /^dist\/(?!cjs\/)/.test(path))
    expect(packed.size).toBeLessThan(632_000)
    expect(packed.unpackedSize).toBeLessThan(2_585_000)
    expect(modules.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(1_477_000)
  })

  test('names the two builds and the declarations of every entry point', () => {
    const entries = Object.entries(manifest.exports).filter(([subpath]) => !subpath.endsWith('.json'))
    const expected = entries.map(([subpath]) => {
      const name = subpath === '.' ? 'index' : subpath.slice(2)
      const esm = `./dist/${name}.js`
      const types = `./dist/types/${name}.d`
      const commonJs = { types: `${types}.cts`, default: `./dist/cjs/${name}.js` }
      return [subpath, { import: { types: `${types}.mts`, default: esm }, 'module-sync': esm, require: commonJs }]
    })
    expect(entries).toEqual(expected)
  })

  test('has every file that exports and imports name', () => {
    const named = JSON.stringify([manifest.exports, manifest.imports, manifest.main, manifest.types])
    const targets = named.match(/\.\/dist\/[^"*]+(?=")/g) ?? []
    expect(targets.length).toBeGreaterThan(4 * modules.length)
    const missing = targets.filter((target) => !existsSync(join(consumer, 'node_modules', manifest.name, target)))
    expect(missing).toEqual([])
  })

  test('depends on no framework', () => {
    const installed = Object.keys(manifest.peerDependencies).filter((peer) => {
      return existsSync(join(consumer, 'node_modules', peer))
    })
    expect(installed).toEqual([])
  })
})

describe('a consumer without any framework', () => {
  const calls = [
    `const limiter = new RateLimiter({ policies: '2/1h' })`,
    `const calls = [1, 2, 3].map(() => limiter.consumeSync('203.0.113.7').allowed)`,
    'console.log(JSON.stringify(calls))',
  ]

  test('limits, in ESM', () => {
    const lines = [`import { RateLimiter } from '${manifest.name}'`, ...calls]
    expect(output('use.mjs', lines)).toEqual([true, true, false])
  })

  test('limits, by require()', () => {
    const lines = [`const { RateLimiter } = require('${manifest.name}')`, ...calls]
    expect(output('use.cjs', lines)).toEqual([true, true, false])
  })

  test('gets the same names by import and by require()', () => {
    const list = JSON.stringify(standalone)
    const imported = output('names.mjs', [
      `const modules = await Promise.all(${list}.map((name) => import(name)))`,
      'console.log(JSON.stringify(modules.map((each) => Object.keys(each).sort())))',
    ]) as string[][]
    expect(imported.filter((names) => names.length === 0)).toEqual([])
    const required = output('names.cjs', [
      `const modules = ${list}.map((name) => require(name))`,
      'console.log(JSON.stringify(modules.map((each) => Object.keys(each).sort())))',
    ])
    expect(required).toEqual(imported)
  })

  test('gets one instance of each module by import and by require()', () => {
    const list = JSON.stringify(standalone)
    const differ = output('instances.cjs', [
      'async function differ(name) {',
      '  const [required, imported] = [require(name), await import(name)]',
      '  return Object.keys(imported).filter((key) => required[key] !== imported[key]).map((key) => [name, key])',
      '}',
      `Promise.all(${list}.map(differ)).then((lists) => console.log(JSON.stringify(lists.flat())))`,
    ])
    expect(differ).toEqual([])
  })

  test('gets the same names from the CommonJS build, which Jest and bundlers load', () => {
    const list = JSON.stringify([...standalone, ...compats])
    const names = (build: string) => `Object.keys(${build}).filter((key) => key !== 'module.exports').sort()`
    const imported = output('built.mjs', [
      `const modules = await Promise.all(${list}.map((name) => import(name)))`,
      `console.log(JSON.stringify(modules.map((each) => ${names('each')})))`,
    ])
    const program = [`console.log(JSON.stringify(${list}.map((name) => ${names('require(name)')})))`]
    // So Node takes what other loaders take for `require`.
    expect(output('built.cjs', program, ['--no-experimental-require-module'])).toEqual(imported)
  })

  test('gets a function from the modules that stand in for CommonJS packages, by import and by require()', () => {
    const list = JSON.stringify(compats)
    const imported = output('compat.mjs', [
      `const modules = await Promise.all(${list}.map((name) => import(name)))`,
      'console.log(JSON.stringify(modules.map((each) => typeof each.default)))',
    ])
    const required = output('compat.cjs', [`console.log(JSON.stringify(${list}.map((name) => typeof require(name))))`])
    expect([imported, required]).toEqual([compats.map(() => 'function'), compats.map(() => 'function')])
  })

  test('has the command that prints the migration', () => {
    const printed = run(join(consumer, 'node_modules', '.bin', 'headgate-postgres'), ['limits.mine'], consumer)
    expect(printed).toMatch(/^create table if not exists "limits"\."mine"/)
  })

  test('sees the names of functions in a stack trace', () => {
    const lines = [
      `import { RateLimiter } from '${manifest.name}'`,
      `const limiter = new RateLimiter({ policies: '2/1h' })`,
      `try { limiter.consumeSync('key', { cost: -1 }) } catch ({ stack }) { console.log(JSON.stringify(stack)) }`,
    ]
    expect(output('stack.mjs', lines)).toMatch(/at RateLimiter\.consumeSync \(.*headgate\/dist\//)
  })

  test('loads the script of Redis only with the Redis store', () => {
    const dist = join(consumer, 'node_modules', manifest.name, 'dist')
    const bundles = packed.files.map(({ path }) => path).filter((path) => /^dist\/(?!cjs\/).*\.js$/.test(path))
    const withScript = bundles.filter((path) => /redis\.call/.test(readFileSync(join(dist, '..', path), 'utf8')))
    // The compat module of Fastify has a short script of its own, which is loaded with a Redis client only.
    expect(withScript).toEqual(['dist/chunks/counts-in-redis.js', 'dist/redis.js'])
  })

  test('cannot reach past exports', () => {
    const lines = [`import('${manifest.name}/dist/index.js').catch(({ code }) => console.log(JSON.stringify(code)))`]
    expect(output('past.mjs', lines)).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})

/** Runs with packages of this repository installed in the consumer, as if it had installed them. */
function withPackages<T>(names: readonly string[], run: () => T): T {
  const links = names.map((name) => join(consumer, 'node_modules', name))
  for (const [n, link] of links.entries()) symlinkSync(join(root, 'node_modules', names[n] as string), link, 'junction')
  try {
    return run()
  } finally {
    for (const link of links) rmSync(link)
  }
}

describe.each(['express', 'koa', 'fastify', 'hono', 'h3'])('a consumer of %s alone', (framework) => {
  test('imports its entry point, which loads no other framework', () => {
    const door = `${manifest.name}/${framework}`
    withPackages([framework], () => {
      const lines = [`import { rateLimit } from '${door}'`, 'console.log(JSON.stringify(typeof rateLimit))']
      expect(output('alone.mjs', lines)).toBe('function')
    })
  })
})

test('a consumer of OpenTelemetry imports its entry point', () => {
  withPackages(['@opentelemetry'], () => {
    const lines = [
      `import { HeadgateInstrumentation } from '${manifest.name}/otel'`,
      'console.log(JSON.stringify(new HeadgateInstrumentation().instrumentationName))',
    ]
    expect(output('otel.mjs', lines)).toBe('headgate')
  })
})

/**
 * Compiles programs together. Returns the compiler's errors in one of them or in this package. Errors in the types of other
 * packages do not count.
 */
function compile(programs: Record<string, readonly string[]>, options: readonly string[]): (file: string) => string[] {
  for (const [file, lines] of Object.entries(programs)) writeFileSync(join(consumer, file), `${lines.join('\n')}\n`)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2023']
  const args = [tsc, ...strict, ...options, ...Object.keys(programs)]
  const { stdout } = spawnSync(process.execPath, args, { cwd: consumer, encoding: 'utf8', env: environment })
  const errors = stdout.split('\n')
  const inside = `node_modules/${manifest.name}/`
  return (file) => errors.filter((line) => line.startsWith(file) || line.includes(inside))
}

/** A program that imports every name of the subpaths. */
function usesOf(subpaths: readonly string[]): string[] {
  const imports = subpaths.map((subpath, n) => `import * as all${n} from '${subpath}'`)
  return [...imports, ...subpaths.map((_, n) => `export const names${n}: readonly string[] = Object.keys(all${n})`)]
}

describe("a consumer in strict TypeScript without Node's types", () => {
  // The types of the frameworks and of Redis clients need those of Node.
  const own = ['', '/store', '/postgres', '/sqlite', '/memcached', '/cluster', '/testing'].map(
    (path) => manifest.name + path,
  )
  const decides = [
    `import { type Decision, HeadgateError, RateLimiter, policy } from '${manifest.name}'`,
    `const limiter = new RateLimiter({ policies: [policy('10/1s'), { limit: 100, window: '1h' }] })`,
    `const decision: Decision = limiter.consumeSync('203.0.113.7', { cost: 2 })`,
    'export const left: number = decision.policies.reduce((least, { remaining }) => Math.min(least, remaining), Infinity)',
    `export const misuse = (error: unknown) => error instanceof HeadgateError && error.code === 'HEADGATE_COST'`,
    '// @ts-expect-error: a policy has a limit',
    `export const wrong = () => new RateLimiter({ policies: { window: '1h' } })`,
  ]
  const bare = {
    'own.mts': usesOf(own),
    'named.mts': [
      `import { memoryStore } from '${manifest.name}'`,
      `import { type Algorithm, type CompareAndSetOptions, compareAndSetStore } from '${manifest.name}/store'`,
      `import { memcachedStore, type MemcachedClient } from '${manifest.name}/memcached'`,
      'export const memory = memoryStore()',
      'export const records = (database: CompareAndSetOptions<number>) => compareAndSetStore(database)',
      'export const memcached = (client: MemcachedClient) => memcachedStore({ client })',
      'export const reportOf = (algorithm: Algorithm, ...given: Parameters<Algorithm["report"]>) => given[3]',
    ],
    'unknown.mts': [`import { nothing } from '${manifest.name}'`],
    'use.mts': decides,
    'use.cts': decides,
  }
  const web = {
    'fetches.mts': usesOf([`${manifest.name}/pacer`, `${manifest.name}/fetch`]),
    'handler.mts': [
      `import { rateLimit } from '${manifest.name}/fetch'`,
      'class NextRequest extends Request {}',
      `const limit = rateLimit('100/15m', { address: (_request, server: { ip: string }) => server.ip })`,
      'export const GET = limit.wrap(async (request: NextRequest, server: { ip: string }) => {',
      '  const left: number | undefined = request.rateLimit?.remaining',
      '  return Response.json({ left, server })',
      '})',
      `export const answer: Promise<Response> = GET(new NextRequest('http://a'), { ip: '192.0.2.1' })`,
    ],
  }
  const options = ['--skipLibCheck', 'false', '--types', '', '--module', 'nodenext']
  let bareErrors: (file: keyof typeof bare) => string[]
  let webErrors: (file: keyof typeof web) => string[]
  beforeAll(() => {
    bareErrors = compile(bare, ['--lib', 'es2023', '--declaration', ...options])
    webErrors = compile(web, ['--lib', 'es2023,dom,dom.iterable', ...options])
  }, 120_000)

  test('has the types of the entry points that need no other package', () => {
    expect(bareErrors('own.mts')).toEqual([])
  })

  test('has the types of a pacer and of fetch handlers, which need those of fetch', () => {
    expect(webErrors('fetches.mts')).toEqual([])
  })

  test("has the decision on a Request of the DOM's types, also of a class that extends it", () => {
    expect(webErrors('handler.mts')).toEqual([])
  })

  test('can name the types of what it exports in declarations of its own', () => {
    expect(bareErrors('named.mts')).toEqual([])
  })

  test('gets an error for a name that is not exported', () => {
    expect(bareErrors('unknown.mts')).toEqual([expect.stringMatching(/^unknown\.mts.*nothing/)])
  })

  test.each(['use.mts', 'use.cts'] as const)('has the types of a decision in %s', (file) => {
    expect(bareErrors(file)).toEqual([])
  })
})

describe('a consumer in strict TypeScript with the types of Node and of the frameworks', () => {
  const options = ['--types', 'node', '--module']

  // The types that such a consumer would install, from the repository's own node_modules.
  beforeAll(() => {
    for (const name of ['@types', '@opentelemetry', 'fastify', 'hono', 'h3']) {
      symlinkSync(join(root, 'node_modules', name), join(consumer, 'node_modules', name), 'junction')
    }
  })

  test('gives stores of others to the module of express-rate-limit', () => {
    const stores = ['rate-limit-redis', 'rate-limit-memcached']
    const program = [
      `import { MemcachedStore } from 'rate-limit-memcached'`,
      `import { RedisStore } from 'rate-limit-redis'`,
      `import { MemoryStore, rateLimit, type Store } from '${manifest.name}/compat/express-rate-limit'`,
      'export const inRedis = rateLimit({ store: new RedisStore({ sendCommand: async () => 1 }) })',
      'export const inMemcached = rateLimit({ store: new MemcachedStore({ locations: [] }) })',
      'export const inMemory: Store = new MemoryStore()',
      '// @ts-expect-error: a store counts hits',
      'export const wrong = rateLimit({ store: { init() {} } })',
    ]
    withPackages(stores, () => {
      const options = ['--types', 'node', '--skipLibCheck', '--module', 'nodenext']
      expect(compile({ 'stores.mts': program }, options)('stores.mts')).toEqual([])
    })
  }, 120_000)

  test.each(inDepth ? ['nodenext', 'node20'] : ['nodenext'])(
    'has the types of every subpath, module %s',
    (module) => {
      const errors = compile({ 'every.mts': usesOf(modules) }, [...options, module])
      expect(errors('every.mts')).toEqual([])
    },
    120_000,
  )
})
