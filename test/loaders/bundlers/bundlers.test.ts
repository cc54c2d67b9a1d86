import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sampled } from '../../support/depth.ts'
import { packages, project, run } from '../support/project.ts'

/* Bundled programs, by `require` and by `import`, which run in a folder that has no packages. */

/** Calls the functions that `require` returns, and those that they have as properties. */
const calls = `
const store = new limit.MemoryStore()
const limiter = new RateLimiter({ policies: '2/1h' })
const answers = [1, 2, 3].map(() => limiter.consumeSync('203.0.113.7').allowed)
const made = [limit({ store }), limit.rateLimit({}), ratelimit({ driver: 'memory' })].map((each) => typeof each)
console.log(JSON.stringify([...answers, ...made, typeof plugin, plugin.normalizeIP('203.0.113.7')]))
`
const printed = [true, true, false, 'function', 'function', 'function', 'function', '203.0.113.7']

const entries = {
  require: `
const limit = require('headgate/compat/express-rate-limit')
const ratelimit = require('headgate/compat/koa-ratelimit')
const plugin = require('headgate/compat/fastify-rate-limit')
const { RateLimiter } = require('headgate')
${calls}`,
  import: `
import limit from 'headgate/compat/express-rate-limit'
import ratelimit from 'headgate/compat/koa-ratelimit'
import plugin from 'headgate/compat/fastify-rate-limit'
import { RateLimiter } from 'headgate'
${calls}`,
}

const esbuild = `require('esbuild').buildSync({ entryPoints: [process.argv[2]], bundle: true, platform: 'node', outfile: 'out/main.cjs' })`

const webpack = `
const output = { path: __dirname + '/out', filename: 'main.cjs' }
require('webpack')({ mode: 'production', target: 'node', entry: './' + process.argv[2], output }, (error, stats) => {
  if (error || stats.hasErrors()) throw error ?? new Error(stats.toString())
})`

/** Each makes a bundle in the folder `out`, and returns the command that runs it there. */
const bundlers: Record<string, (folder: string, entry: string) => readonly string[]> = {
  esbuild(folder, entry) {
    run(process.execPath, ['esbuild.cjs', entry], folder)
    return [process.execPath, 'main.cjs']
  },
  webpack(folder, entry) {
    run(process.execPath, ['webpack.cjs', entry], folder)
    return [process.execPath, 'main.cjs']
  },
  rollup(folder, entry) {
    const plugins = ['commonjs', 'node-resolve', 'json'].flatMap((name) => ['-p', `@rollup/plugin-${name}`])
    const output = [
      '-d',
      'out',
      '-f',
      'cjs',
      '--entryFileNames',
      'main.cjs',
      '--chunkFileNames',
      '[name].cjs',
      '--silent',
    ]
    run(process.execPath, [join(packages, 'rollup/dist/bin/rollup'), entry, ...plugins, ...output], folder)
    return [process.execPath, 'main.cjs']
  },
  ncc(folder, entry) {
    run(process.execPath, [join(packages, '@vercel/ncc/dist/ncc/cli.js'), 'build', entry, '-o', 'out', '-q'], folder)
    return [process.execPath, entry.replace('main', 'index')]
  },
  bun(folder, entry) {
    const scope = join(packages, '@oven')
    const [name] = existsSync(scope) ? readdirSync(scope) : []
    if (name === undefined) throw new Error('There is no bun for this platform. Run: npm ci --prefix test/loaders')
    run(join(scope, name, 'bin/bun'), ['build', entry, '--compile', '--outfile', 'out/main'], folder)
    return ['./main']
  },
}

const elsewhere = mkdtempSync(join(tmpdir(), 'headgate-bundled-'))
afterAll(() => rmSync(elsewhere, { recursive: true, force: true }))

const cases = sampled(Object.keys(bundlers), 1).flatMap((bundler) => [
  { bundler, way: 'require' as const, entry: 'main.cjs' },
  { bundler, way: 'import' as const, entry: 'main.mjs' },
])

test.each(cases)('a program that $bundler has bundled, by $way, runs without packages', ({ bundler, way, entry }) => {
  const folder = project(`${bundler}-${way}`, {
    'package.json': { private: true },
    // esbuild and bun read the settings of a folder above, whose paths name the sources in place of the installed package.
    'tsconfig.json': {},
    [entry]: entries[way],
    'esbuild.cjs': esbuild,
    'webpack.cjs': webpack,
  })
  const [program = '', ...args] = bundlers[bundler]?.(folder, entry) ?? []
  const moved = join(elsewhere, `${bundler}-${way}`)
  renameSync(join(folder, 'out'), moved)
  expect(JSON.parse(run(program, args, moved))).toEqual(printed)
})
