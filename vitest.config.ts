import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { alias: { '#platform': new URL('./src/platform/node.ts', import.meta.url).pathname } },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: './test/support/programs.ts',
    testTimeout: 30_000,
    reporters: ['default', './test/support/count-reporter.ts'],
  },
})
