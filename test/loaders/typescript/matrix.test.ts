import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sampled } from '../../support/depth.ts'
import { entries, packages, project } from '../support/project.ts'

/*
 * Programs in strict TypeScript, with each compiler from the lowest that the docs name, and each setting of modules. Errors in
 * the declarations of headgate count too; those in the declarations of other packages do not.
 */

/** The lowest of them is named in docs/start.md. */
const versions = ['5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '6', '7'] as const

type Version = (typeof versions)[number]

const decides = `
import { type Decision, HeadgateError, RateLimiter, policy } from 'headgate'
import { rateLimit as express } from 'headgate/express'
import { rateLimit as hono } from 'headgate/hono'
import { rateLimit as h3 } from 'headgate/h3'
import { RateLimitModule } from 'headgate/nest'
import { sqliteStore } from 'headgate/sqlite'
const limiter = new RateLimiter({ policies: [policy('10/1s'), { limit: 100, window: '1h' }] })
export const decision: Decision = limiter.consumeSync('203.0.113.7', { cost: 2 })
export const left: number = decision.policies.reduce((least, { remaining }) => Math.min(least, remaining), Infinity)
export const misuse = (error: unknown) => error instanceof HeadgateError && error.code === 'HEADGATE_COST'
// As @types/better-sqlite3 has it, for better-sqlite3 and libsql.
interface Statement<P extends unknown[], R = unknown> {
  run(...params: P): { changes: number }
  get(...params: P): R | undefined
  all(...params: P): R[]
}
interface Database {
  inTransaction: boolean
  open: boolean
  prepare<P extends unknown[] | {} = unknown[], R = unknown>(source: string): P extends unknown[] ? Statement<P, R> : Statement<[P], R>
  exec(source: string): this
}
export const betterSqlite = (database: Database) => sqliteStore({ database })
// @ts-expect-error: a policy has a limit
export const wrong = () => new RateLimiter({ policies: { window: '1h' } })
// @ts-expect-error: keys are functions
export const wrongExpress = () => express({ policies: '1/1s', keys: 5 })
// @ts-expect-error: keys are functions
export const wrongHono = () => hono({ policies: '1/1s', keys: 5 })
// @ts-expect-error: keys are functions
export const wrongH3 = () => h3({ policies: '1/1s', keys: 5 })
// @ts-expect-error: keys are functions
export const wrongNest = () => RateLimitModule.forRoot({ policies: '1/1s', keys: 5 })
`

/** What stands in for CommonJS packages, by the default import and by names. */
const compats = `
import limit, { MemoryStore, type Options, rateLimit, type Store } from 'headgate/compat/express-rate-limit'
import koa, { type MiddlewareOptions, ratelimit } from 'headgate/compat/koa-ratelimit'
import plugin, { fastifyRateLimit, normalizeIP, type RateLimitPluginOptions } from 'headgate/compat/fastify-rate-limit'
export const options: Partial<Options> = { limit: 2 }
export const store: Store = new MemoryStore()
export const koaOptions: MiddlewareOptions = { max: 2 }
export const fastifyOptions: RateLimitPluginOptions = { max: 2, keyGenerator: ({ ip }) => normalizeIP(ip) }
export const made: unknown[] = [limit(options), rateLimit({ store }), koa(koaOptions), ratelimit(koaOptions), plugin, fastifyRateLimit]
// @ts-expect-error: a limit is a number or a function
export const wrong = () => limit({ limit: {} })
`

/** What `require` returns: a function, a record of its exports, and a namespace of their types. */
const required = `
import m = require('headgate/compat/express-rate-limit')
import k = require('headgate/compat/koa-ratelimit')
import f = require('headgate/compat/fastify-rate-limit')
const options: Partial<m.Options> = { limit: 2, windowMs: m.SECOND }
const store: m.MemoryStore = new m.MemoryStore()
const koaOptions: k.MiddlewareOptions = { max: 2 }
const fastifyOptions: f.RateLimitPluginOptions = { max: 2, keyGenerator: ({ ip }) => f.normalizeIP(ip) }
const made: unknown[] = [m(options), m.rateLimit({ store }), m.default(options), k(koaOptions), k.ratelimit(), f, f.default]
// @ts-expect-error: a limit is a number or a function
const wrong = () => m({ limit: {} })
export = { made, wrong, fastifyOptions }
`

const every = [
  ...entries.map((name, n) => `import * as all${n} from '${name}'`),
  ...entries.map((_, n) => `export const names${n}: readonly string[] = Object.keys(all${n})`),
].join('\n')

const asModules = { 'every.mts': every, 'decides.mts': decides, 'compats.mts': compats }
const asCommonJs = { 'every.cts': every, 'decides.cts': decides, 'compats.cts': compats, 'required.cts': required }
const plain = { 'every.ts': every, 'decides.ts': decides, 'compats.ts': compats }
const plainCommonJs = { ...plain, 'required.ts': required }

const below = (limit: number) => (version: Version) => Number(version) < limit
const all = () => true

/** The settings of modules: what they compile, and which compilers have them. */
const settings: Record<string, { options: object; files: Record<string, string>; in: (version: Version) => boolean }> =
  {
    nodenext: { options: { module: 'nodenext' }, files: { ...asModules, ...asCommonJs }, in: all },
    node16: { options: { module: 'node16' }, files: { ...asModules, ...asCommonJs }, in: all },
    'node20, checked': {
      options: { module: 'node20', skipLibCheck: false },
      files: { ...asModules, ...asCommonJs },
      in: (version) => Number(version) >= 5.9,
    },
    'node16, checked': {
      options: { module: 'node16', skipLibCheck: false },
      files: { ...asModules, ...asCommonJs },
      in: all,
    },
    bundler: { options: { module: 'esnext', moduleResolution: 'bundler' }, files: plain, in: all },
    commonjs: { options: { module: 'commonjs', esModuleInterop: true }, files: plainCommonJs, in: all },
    'commonjs without interop': {
      options: { module: 'commonjs', esModuleInterop: false },
      files: plainCommonJs,
      in: below(6),
    },
    // As Next writes it for the pages router.
    'node10, checked': {
      options: { module: 'esnext', moduleResolution: 'node', esModuleInterop: true, skipLibCheck: false },
      files: plain,
      in: below(6),
    },
  }

/** The errors of a compiler in the program and in headgate. */
function errorsOf(version: Version, name: string): string[] {
  const { options, files } = settings[name] as (typeof settings)[string]
  const folder = project(`typescript-${version}-${name.replaceAll(/\W+/g, '-')}`, {
    'package.json': { private: true },
    'tsconfig.json': {
      compilerOptions: {
        target: 'es2022',
        types: ['node'],
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        ...options,
      },
      files: Object.keys(files),
    },
    ...files,
  })
  const compiler = join(packages, version === '5.9' ? 'typescript' : `typescript-${version}`, 'bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [compiler, '--pretty', 'false', '-p', '.'], {
    cwd: folder,
    encoding: 'utf8',
  })
  const lines = stdout.split('\n')
  // A compiler that did not run has compiled nothing.
  if (status !== 0 && lines.every((line) => !line.includes('error TS'))) return [stdout || `exit ${status}`]
  return lines.filter(
    (line) => /error TS/.test(line) && (/^\w+\.[mc]?ts|^error/.test(line) || line.includes('node_modules/headgate/')),
  )
}

const lowest = versions[0]

test('the docs name the lowest compiler', () => {
  expect(readFileSync(new URL('../../../docs/start.md', import.meta.url), 'utf8')).toContain(`TypeScript ${lowest}`)
})

describe.each([...new Set([lowest, ...sampled(versions.slice(1), 1)])])('TypeScript %s', (version) => {
  const names = Object.keys(settings).filter((name) => settings[name]?.in(version))
  test.each(sampled(names, 3))('compiles with %s', (name) => {
    expect(errorsOf(version, name)).toEqual([])
  })
})
