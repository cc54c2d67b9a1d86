/* Runs before each test file. The files of a tier share a process and its modules, so each ends as it began. */
import { afterAll, vi } from 'vitest'
import { watchForwarded } from '../../src/http/keys/by-ip.ts'
import { forgetWarnings } from '../../src/common/warn.ts'

afterAll(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  forgetWarnings()
  watchForwarded()
})
