import { type Clock, checkClock, wallClock } from '../clock.ts'
import { knownOptions, positiveInteger } from '../options.ts'
import { KeyQueue } from './records/key-queue.ts'
import { RecordStore } from './records/ledger.ts'
import { Answers } from './records/pending.ts'
import { Swapper, type Swaps } from './records/swapper.ts'
import { type SharedStoreOptions, sharedOptions, wrongOption } from './shared-options.ts'

export type { Found } from './records/swapper.ts'

export interface CompareAndSetOptions<Version> extends Swaps<Version>, SharedStoreOptions {
  /** How often a call tries again when another process was faster, before it rejects with `HEADGATE_STORE`. Default 30. */
  retries?: number
  /** The most bytes that a text may have; policies that could need more are refused. Default: no bound. */
  maxBytes?: number
  /** Whole microseconds since the epoch, whatever `read` tells. Default: what `read` tells, else the wall clock. */
  clock?: Clock
  /** What errors call the store. Default `'The store'`. */
  name?: string
}

const known = [
  'read',
  'swap',
  'retries',
  'maxBytes',
  'clock',
  'name',
  'prefix',
  'timeout',
  'ttlMargin',
] as const satisfies (keyof CompareAndSetOptions<unknown>)[]

/**
 * A store of anything that can read a text and replace it if nobody else did meanwhile.
 * Keys are at most 250 characters of ASCII without spaces.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`; a limiter on it also `HEADGATE_STATE_SIZE`
 */
export function compareAndSetStore<Version>(options: CompareAndSetOptions<Version>): RecordStore {
  const store = 'compareAndSetStore'
  knownOptions(store, options, known)
  const { read, swap, retries = 30, maxBytes = Number.MAX_SAFE_INTEGER, name = 'The store' } = options
  for (const [option, value] of Object.entries({ read, swap })) {
    if (typeof value !== 'function') throw wrongOption(store, option, value, 'Give a function.')
  }
  const clock = options.clock === undefined ? wallClock : checkClock(options.clock)
  const { prefix, timeout, ttlMargin } = sharedOptions(store, options)
  const bytes = positiveInteger(maxBytes, `${store}: maxBytes`, 'HEADGATE_OPTION')
  const size = { store: name, bytes }
  const swapper = new Swapper({
    read,
    swap,
    retries: positiveInteger(retries, `${store}: retries`, 'HEADGATE_OPTION'),
    ttlMargin,
    clock,
    trusting: options.clock === undefined,
    size,
  })
  const line = new KeyQueue((jobs) => jobs.map((job) => swapper.execute(job)), timeout)
  return new RecordStore({ prefix, timeout, clock, line, answers: new Answers(name, timeout), size })
}
