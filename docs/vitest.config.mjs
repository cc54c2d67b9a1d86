import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: {
    // The package as it is built, which the pages run too.
    alias: [
      { find: /^headgate$/, replacement: new URL('../dist/index.js', import.meta.url).pathname },
      { find: /^headgate\/(.+)$/, replacement: new URL('../dist/$1.js', import.meta.url).pathname },
    ],
  },
  test: {
    include: ['test/**/*.test.mjs'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    reporters: ['default', '../test/support/count-reporter.ts'],
  },
})
