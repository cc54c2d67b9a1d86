import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import { knownOptions } from '../options.ts'

const kinds = ['delay', 'error', 'hang', 'lost-reply', 'partition'] as const

/** A way in which a store can fail; `faultyStore` explains each. */
export type FaultKind = (typeof kinds)[number]

export interface Fault {
  kind: FaultKind
  /** The length of a delay in milliseconds or text such as `'50ms'`: half of it before the call, half after. */
  by?: Duration
}

/** A fault for some time. Both times count from when the store was wrapped. */
export interface ScheduledFault extends Fault {
  /** When the fault begins. Default: at once. */
  from?: Duration
  /** When the fault ends. Default: never. */
  to?: Duration
}

/** A checked fault, with its times in milliseconds. */
export interface TimedFault {
  readonly kind: FaultKind
  readonly by: number
  readonly from: number
  readonly to: number
}

/** @throws HeadgateError `HEADGATE_OPTION` */
export function timedFault(fault: ScheduledFault): TimedFault {
  knownOptions('A fault', fault, ['kind', 'by', 'from', 'to'])
  const { kind, by, from = 0, to } = fault
  if (!kinds.includes(kind)) throw wrong(`kind cannot be ${shown(kind)}`, `Give one of ${kinds.join(', ')}.`)
  if ((kind === 'delay') !== (by !== undefined)) {
    throw wrong(`${kind} ${by === undefined ? 'needs a' : 'takes no'} \`by\``, "Write { kind: 'delay', by: '50ms' }.")
  }
  const read = (time: Duration, what: string) => milliseconds(time, `A fault: ${what}`, 'HEADGATE_OPTION', 0)
  const timed = {
    kind,
    by: by === undefined ? 0 : read(by, 'by'),
    from: read(from, 'from'),
    to: to === undefined ? Infinity : read(to, 'to'),
  }
  if (timed.from >= timed.to) throw wrong(`from ${shown(from)} to ${shown(to)} is an empty time`, 'Give a later `to`.')
  return timed
}

function wrong(what: string, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `A fault: ${what}. ${fix}`)
}
