import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampled } from '../../support/depth.ts'
import { packages, project, run } from '../support/project.ts'

/*
 * Small projects that use the module which stands in for express-rate-limit, each tested with Jest: JavaScript or TypeScript,
 * CommonJS or ES modules, the default or the named import.
 */

interface Kind {
  readonly language: 'js' | 'ts'
  readonly modules: 'commonjs' | 'esm'
  readonly imported: 'default' | 'named'
}

const kinds: readonly Kind[] = (['js', 'ts'] as const).flatMap((language) =>
  (['commonjs', 'esm'] as const).flatMap((modules) =>
    (['default', 'named'] as const).map((imported) => ({ language, modules, imported })),
  ),
)

const limiter = 'headgate/compat/express-rate-limit'

/** The statement that imports names. TypeScript has the syntax of ES modules everywhere. */
function imports({ language, modules }: Kind, defaultName: string, names: string, from: string): string {
  const list = [defaultName, names && `{ ${names} }`].filter(Boolean).join(', ')
  if (language === 'ts' || modules === 'esm') return `import ${list} from '${from}'`
  const statements = [defaultName && `const ${defaultName} = require('${from}')`]
  if (names) statements.push(`const { ${names} } = require('${from}')`)
  return statements.filter(Boolean).join('\n')
}

const storeWithTypes = `
export class OwnStore implements Store {
  readonly hits = new Map<string, number>()
  async increment(key: string): Promise<ClientRateLimitInfo> {
    const totalHits = (this.hits.get(key) ?? 0) + 1
    this.hits.set(key, totalHits)
    return { totalHits, resetTime: undefined }
  }
  async decrement(key: string): Promise<void> {
    this.hits.set(key, (this.hits.get(key) ?? 1) - 1)
  }
  async resetKey(key: string): Promise<void> {
    this.hits.delete(key)
  }
}
`

function application(kind: Kind): string {
  const { language, modules, imported } = kind
  const typed = language === 'ts'
  const names = typed ? 'MemoryStore, type ClientRateLimitInfo, type Store' : 'MemoryStore'
  const exported =
    typed || modules === 'esm'
      ? 'export { ownStoreApp, memoryStoreApp }'
      : 'module.exports = { ownStoreApp, memoryStoreApp }'
  return `
${imports(kind, 'express', '', 'express')}
${imported === 'default' ? imports(kind, 'rateLimit', names, limiter) : imports(kind, '', `rateLimit, ${names}`, limiter)}
${typed ? storeWithTypes : 'class OwnStore extends MemoryStore {}'}
function limited(store${typed ? ': Store' : ''}) {
  const app = express()
  app.use(rateLimit({ limit: 2, legacyHeaders: false, standardHeaders: true, store }))
  app.get('/', (request, response) => { response.send('Hello!') })
  return app
}
const ownStoreApp = limited(new OwnStore())
const memoryStoreApp = limited(new MemoryStore())
${exported}
`
}

const testOf = (kind: Kind) => `
${imports(kind, 'request', '', 'supertest')}
${imports(kind, '', 'ownStoreApp, memoryStoreApp', `../source/app${kind.language === 'js' && kind.modules === 'esm' ? '.js' : ''}`)}

test.each([['its own store', ownStoreApp], ['a MemoryStore', memoryStoreApp]])('limits with %s', async (_, app) => {
  await request(app).get('/').expect(200)
  await request(app).get('/').expect('RateLimit-Remaining', '0').expect(200)
  await request(app).get('/').expect(429)
})
`

function write(kind: Kind): string {
  const { language, modules } = kind
  const module = modules === 'esm' ? { module: 'esnext', moduleResolution: 'bundler' } : { module: 'commonjs' }
  return project(`jest-${Object.values(kind).join('-')}`, {
    'package.json': { private: true, type: modules === 'esm' ? 'module' : 'commonjs' },
    'jest.config.json':
      language === 'ts' ? { preset: `ts-jest/presets/default${modules === 'esm' ? '-esm' : ''}` } : {},
    'tsconfig.json': {
      compilerOptions: {
        ...module,
        target: 'es2022',
        strict: true,
        esModuleInterop: true,
        skipLibCheck: true,
        types: ['node', 'jest'],
      },
    },
    [`source/app.${language}`]: application(kind),
    [`test/server.test.${language}`]: testOf(kind),
  })
}

test.each(sampled(kinds, 2))('$language, $modules, $imported import: Jest passes', (kind) => {
  const folder = write(kind)
  const flags = kind.modules === 'esm' ? { NODE_OPTIONS: '--experimental-vm-modules' } : {}
  run(
    process.execPath,
    [join(packages, 'jest/bin/jest.js'), '--ci', '--json', '--outputFile=result.json'],
    folder,
    flags as Record<string, string>,
  )
  expect(run(process.execPath, ['-p', "JSON.parse(fs.readFileSync('result.json')).numPassedTests"], folder)).toBe('2\n')
})
