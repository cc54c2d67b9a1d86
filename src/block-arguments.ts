import { type Duration, milliseconds, warnOfSeconds } from './duration.ts'
import { invalidOption } from './errors.ts'
import { knownOptions } from './options.ts'

export interface BlockOptions {
  /** Why the key is blocked, in at most 200 characters. It is told in `decision.blocked`, and in no response. */
  reason?: string
}

/** In microseconds; Infinity for a block without an end. @throws HeadgateError `HEADGATE_BLOCK` */
export function blockTime(duration: Duration): number {
  if (duration === Infinity) return Infinity
  const time = milliseconds(duration, 'block: duration', 'HEADGATE_BLOCK')
  warnOfSeconds(duration, 'block: duration')
  return time * 1000
}

/** @throws HeadgateError `HEADGATE_BLOCK`, or `HEADGATE_OPTION` for an unknown option */
export function reasonOf(options: BlockOptions | undefined): string | undefined {
  if (options === undefined) return undefined
  knownOptions('block', options, ['reason'])
  const { reason } = options
  if (reason === undefined || (typeof reason === 'string' && reason !== '' && reason.length <= 200)) return reason
  throw invalidOption(
    'block: reason',
    'a text of 1 to 200 characters',
    reason,
    'Shorten it, or leave it out.',
    'HEADGATE_BLOCK',
  )
}
