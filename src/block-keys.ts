import { forever } from './algorithms/block.ts'
import { type Duration, milliseconds, warnOfSeconds } from './duration.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { check, optional } from './option-readers.ts'
import { readOptions } from './options.ts'
import type { Command } from './stores/command.ts'
import type { Ledger } from './stores/store.ts'

export interface BlockOptions {
  /** Why the key is blocked, in at most 200 characters. It is told in `decision.blocked`, and in no response. */
  reason?: string
}

type Keys = Command<'ban'>['keys']

/** @throws HeadgateError `HEADGATE_BLOCK` or `HEADGATE_OPTION` for an invalid argument */
export function blockKeys(
  ledger: Ledger,
  keys: Keys,
  duration: Duration,
  options: BlockOptions | undefined,
): MaybePromise<void> {
  const reason = reasonOf(options)
  const ban = { duration: blockTime(duration), ...(reason !== undefined && { reason }) }
  return ledger.run({ verb: 'ban', keys, ban })
}

/** In microseconds. */
function blockTime(duration: Duration): number {
  if (duration === Infinity) return forever
  const time = milliseconds(duration, 'block: duration', 'HEADGATE_BLOCK')
  warnOfSeconds(duration, 'block: duration')
  return time * 1000
}

function reasonOf(options: BlockOptions | undefined): string | undefined {
  if (options === undefined) return undefined
  return readOptions('block', options, { reason }).reason
}

const reason = optional(
  check<string>(
    (given) => typeof given === 'string' && given !== '' && given.length <= 200,
    'a text of 1 to 200 characters',
    "'abuse'",
    undefined,
    'HEADGATE_BLOCK',
  ),
)
