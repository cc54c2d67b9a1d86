import { type Duration, milliseconds } from '../../duration.ts'
import { wrongOption } from '../shared-options.ts'

/** The options that decide it. */
interface ModeOptions {
  mode?: 'strict' | 'optimistic'
  report?: Duration
  leases?: unknown
}

/** In milliseconds. */
const longest = 3_600_000

/**
 * How often a process reports, in milliseconds; undefined for the mode `'strict'`.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function reportPeriod({ mode = 'strict', report, leases }: ModeOptions): number | undefined {
  if (mode !== 'strict' && mode !== 'optimistic') throw wrong('mode', mode, "Give 'strict' or 'optimistic'.")
  if (mode === 'strict') {
    if (report === undefined) return undefined
    throw wrong('report', report, "Give mode: 'optimistic' too, or leave report out.")
  }
  if (leases !== undefined) {
    throw wrong('leases', leases, "Leave leases out in the mode 'optimistic', which asks for no units ahead.")
  }
  const period = milliseconds(report ?? 100, 'redisStore: report', 'HEADGATE_OPTION')
  if (period <= longest) return period
  throw wrong('report', report, 'Give at most 1 hour.')
}

function wrong(option: string, value: unknown, fix: string): Error {
  return wrongOption('redisStore', option, value, fix)
}
