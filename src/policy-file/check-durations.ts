import { HeadgateError, shown } from '../common/index.ts'

/** A number would be milliseconds, and is mostly meant in seconds. @throws HeadgateError if a duration is a number */
export function checkDurations(options: unknown): void {
  for (const name of ['window', 'lease', 'within', 'ban', 'forget', 'retryAfter']) {
    const number = [Object(options)[name]].flat().find((each) => typeof each === 'number')
    if (number === undefined) continue
    throw new HeadgateError(
      'HEADGATE_POLICY_FILE',
      `${name} must have a unit in a file, got ${shown(number)}. Write "${number}s" for seconds, or "${number}ms" for milliseconds.`,
    )
  }
}
