import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/**
 * Prints the closing line that the CI reads: `N passed, N failed`, alone on a line. A file that cannot run, a suite whose
 * hook fails and an error outside any test count as failed.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0
    let failed = unhandled.length
    for (const module of modules) {
      failed += module.errors().length
      for (const suite of module.children.allSuites()) failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        if (state === 'failed') failed++
      }
    }
    console.log(`\n${passed} passed, ${failed} failed`)
  }
}
