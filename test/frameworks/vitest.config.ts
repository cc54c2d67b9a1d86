import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** The tests of the adapters' contract, which start their applications through `test/support/frameworks.ts`. */
const contractTests = readdirSync(path('../http'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && !file.endsWith('.long.test.ts'))
  .map((file) => path(`../http/${file}`))
  .filter((file) => readFileSync(file, 'utf8').includes('contract('))

/** What does not hold here: Nest sends every exception as JSON, whatever the client accepts. */
const exceptions = [
  'a refusal is plain text or JSON, as the client accepts, and is not cached',
  'a limit of 0 refuses everybody, without Retry-After',
  'closed responds with 503 with Retry-After, in the form that the client accepts, and admits no request',
]

/** Starts applications of Nest there instead, on the sources of the package. */
const startNest = {
  name: 'start-nest',
  enforce: 'pre' as const,
  resolveId(id: string, importer = '') {
    const fromContract = id === './frameworks.ts' && importer.endsWith('/contract.ts')
    const fromTest = id.endsWith('/support/frameworks.ts') && importer.endsWith('.test.ts')
    return fromContract || fromTest ? path('contract/frameworks.ts') : undefined
  },
}

const alias = [
  { find: '#platform', replacement: path('../../src/platform/node.ts') },
  // The sources would find those of the root.
  ...['@nestjs/common', '@nestjs/core', 'rxjs'].map((name) => ({
    find: new RegExp(`^${name}$`),
    replacement: fileURLToPath(import.meta.resolve(name)),
  })),
]

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    testNamePattern: new RegExp(`^(?!Nest on \\w+ (${exceptions.join('|')})$)`),
    reporters: ['default', '../support/count-reporter.ts'],
    projects: [
      {
        extends: true,
        // Next's own bundler finds this name without an extension, and Node does not.
        resolve: { alias: { 'next/server': fileURLToPath(import.meta.resolve('next/server.js')) } },
        test: { name: 'frameworks', include: ['*/*.test.ts'], exclude: ['contract/**'] },
      },
      {
        extends: true,
        plugins: [startNest],
        resolve: { alias },
        test: {
          name: 'contract',
          env: { HEADGATE_EVERY_FRAMEWORK: 'true' },
          dir: '../..',
          include: [...contractTests, 'test/frameworks/contract/*.test.ts'],
        },
      },
    ],
  },
})
