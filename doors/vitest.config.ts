import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['*/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', '../test/support/count-reporter.ts'],
  },
})
