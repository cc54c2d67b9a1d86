import type { Duration } from '../../duration.ts'
import { invalidOption } from '../../errors.ts'
import { duration, oneOf, optional } from '../../option-readers.ts'
import type { Reader } from '../../options.ts'

/** The options that decide it. */
interface ModeOptions {
  mode?: 'strict' | 'optimistic'
  report?: Duration
  leases?: unknown
}

const reports: Reader<number> = duration('100ms', { most: 3_600_000 })

export const modeOptions: { mode: Reader<'strict' | 'optimistic'>; report: Reader<number | undefined> } = {
  mode: oneOf('strict', 'optimistic'),
  report: optional(reports),
}

/**
 * How often a process reports, in milliseconds; undefined for the mode `'strict'`.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function reportPeriod({ mode, report, leases }: ModeOptions): number | undefined {
  if (mode === 'optimistic' && leases === undefined) return reports(report, 'redisStore: report')
  if (mode === 'optimistic') {
    const fix = "Leave leases out in the mode 'optimistic', which asks for no units ahead."
    throw invalidOption('redisStore: leases', 'left out', leases, fix)
  }
  if (report === undefined) return undefined
  throw invalidOption('redisStore: report', 'left out', report, "Give mode: 'optimistic' too, or leave report out.")
}
