import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampled } from '../../support/depth.ts'
import { entries, packages, project, run } from '../support/project.ts'

/* Jest as it is by default: it transforms nothing below node_modules, and loads what `require` gives. */

/** h3 is an ES module, which Jest loads as such only. Nest is one from version 12 on. */
const loadable = entries.filter((name) => name !== 'headgate/h3')

const transforms = {
  'babel-jest': {
    '\\.ts$': ['babel-jest', { plugins: ['@babel/plugin-transform-modules-commonjs'], configFile: false }],
  },
  'ts-jest': { '\\.ts$': 'ts-jest' },
  '@swc/jest': { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } }] },
}

const cases = ['jest-29', 'jest'].flatMap((jest) => Object.keys(transforms).map((transform) => ({ jest, transform })))

const program = `
import limit, { MemoryStore, rateLimit } from 'headgate/compat/express-rate-limit'
import ratelimit, { ratelimit as named } from 'headgate/compat/koa-ratelimit'
import plugin, { normalizeIP } from 'headgate/compat/fastify-rate-limit'
import { RateLimiter } from 'headgate'
import * as headgate from 'headgate'

test.each(${JSON.stringify(loadable)})('loads %s', (name) => {
  expect(Object.keys(require(name)).length).toBeGreaterThan(0)
})

test('limits', () => {
  const limiter = new RateLimiter({ policies: '2/1h' })
  expect([1, 2, 3].map(() => limiter.consumeSync('key').allowed)).toEqual([true, true, false])
  expect(headgate.RateLimiter).toBe(RateLimiter)
})

test('has the default and the named exports of what stands in for CommonJS packages', () => {
  expect([limit, ratelimit, plugin].map((each) => typeof each)).toEqual(['function', 'function', 'function'])
  expect([limit, ratelimit]).toEqual([rateLimit, named])
  expect(typeof limit({ store: new MemoryStore() })).toBe('function')
  expect(normalizeIP('203.0.113.7')).toBe('203.0.113.7')
})

test('rejects as the same class of error everywhere', () => {
  expect(() => new RateLimiter({ policies: '0/0' as never })).toThrow(headgate.HeadgateError)
})
`

/** The babel of babel-jest reads no types. */
const sources = (transform: string) => (transform === 'babel-jest' ? program.replace(' as never', '') : program)

test.each(sampled(cases, 1))('$jest with $transform loads every entry point', ({ jest, transform }) => {
  const folder = project(`${jest}-${transform.replace('/', '-')}`, {
    'package.json': { private: true },
    'jest.config.json': { transform: transforms[transform as keyof typeof transforms] },
    'tsconfig.json': {
      compilerOptions: { module: 'commonjs', target: 'es2022', esModuleInterop: true, types: ['jest', 'node'] },
    },
    'load.test.ts': sources(transform),
  })
  run(process.execPath, [join(packages, jest, 'bin/jest.js'), '--ci', '--json', '--outputFile=result.json'], folder)
  const passed = run(process.execPath, ['-p', "JSON.parse(fs.readFileSync('result.json')).numPassedTests"], folder)
  expect(Number(passed)).toBe(loadable.length + 3)
})

test('Jest loads what browsers get if its environment has their conditions', () => {
  const folder = project('jest-browser', {
    'package.json': { private: true },
    'jest.config.json': { testEnvironmentOptions: { customExportConditions: ['browser'] } },
    'load.test.js': `
      test('limits', () => {
        const { RateLimiter } = require('headgate')
        expect(new RateLimiter({ policies: '2/1h' }).consumeSync('key').remaining).toBe(1)
      })
    `,
  })
  run(process.execPath, [join(packages, 'jest/bin/jest.js'), '--ci'], folder)
})

test('In Jest, a refused message of Nest is what it is elsewhere', () => {
  const folder = project('jest-nest', {
    'package.json': { private: true },
    'jest.config.json': {},
    'refused.test.js': `
      require('reflect-metadata')
      const { Controller, Module } = require('@nestjs/common')
      const { NestFactory } = require('@nestjs/core')
      const { ClientProxyFactory, MessagePattern, Transport } = require('@nestjs/microservices')
      const { RateLimit, RateLimitModule } = require('headgate/nest')

      test('tells 429', async () => {
        class Sums { add() { return 3 } }
        Controller()(Sums)
        const add = Object.getOwnPropertyDescriptor(Sums.prototype, 'add')
        for (const decorate of [MessagePattern('add'), RateLimit('1/1h')]) decorate(Sums.prototype, 'add', add)
        class App {}
        Module({ imports: [RateLimitModule.forRoot({ limit: false })], controllers: [Sums] })(App)
        const options = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } }
        const app = await NestFactory.createMicroservice(App, { ...options, logger: false })
        await app.listen()
        const { port } = app.unwrap().address()
        const client = ClientProxyFactory.create({ ...options, options: { ...options.options, port } })
        const ask = () => new Promise((next, error) => client.send('add', {}).subscribe({ next, error }))
        expect(await ask()).toBe(3)
        await expect(ask()).rejects.toMatchObject({ statusCode: 429, policy: '1h' })
        client.close()
        await app.close()
      })
    `,
  })
  run(process.execPath, [join(packages, 'jest/bin/jest.js'), '--ci', '--forceExit'], folder)
})
