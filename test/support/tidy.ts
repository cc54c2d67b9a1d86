/* Runs before each test file. The files of a tier share a process and its modules, so each ends as it began. */
import { afterAll, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { watchForwarded } from '../../src/http/keys/by-ip.ts'
import { forgetLimiters } from '../../src/limiter/plans.ts'

/** @hono/node-server replaces these, as its users have it. */
const { Request, Response } = globalThis

afterAll(() => {
  Object.assign(globalThis, { Request, Response })
  vi.restoreAllMocks()
  vi.useRealTimers()
  forgetWarnings()
  watchForwarded()
  forgetLimiters()
})
