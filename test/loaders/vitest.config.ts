import { defineConfig } from 'vitest/config'
import { inDepth } from '../support/depth.ts'

export default defineConfig({
  test: {
    include: ['*/*.test.ts'],
    exclude: ['**/node_modules/**', ...(inDepth ? [] : ['next/**'])],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    reporters: ['default', '../support/count-reporter.ts'],
  },
})
