import { type Clock, checkClock, wallClock } from '../clock.ts'
import { knownOptions, type Names, positiveInteger } from '../options.ts'
import { Deadlines } from './deadlines.ts'
import { KeyQueue } from './records/key-queue.ts'
import { RecordStore } from './records/record-store.ts'
import { type ReadAndSwap, SwapRunner } from './records/swap-runner.ts'
import { type SharedStoreOptions, sharedNames, sharedOptions, wrongOption } from './shared-options.ts'

export type { ReadAndSwap, VersionedText } from './records/swap-runner.ts'

export interface CompareAndSetOptions<Version> extends ReadAndSwap<Version>, SharedStoreOptions {
  /**
   * How often a call tries again after another process has written first. Then it rejects with HeadgateError
   * `HEADGATE_STORE`. Default 30.
   */
  retries?: number
  /** The most bytes of a text. Policies that could need more are refused. Default: no limit. */
  maxBytes?: number
  /** A clock of whole microseconds since the epoch. Default: the time that `read` returns, else the wall clock. */
  clock?: Clock
  /** The name of the store in errors. Default `'The store'`. */
  name?: string
}

type Options = CompareAndSetOptions<unknown>
export const swapNames: Names<Omit<Options, 'read' | 'swap' | 'name'>> = [
  'retries',
  'maxBytes',
  'clock',
  ...sharedNames,
]
const known: Names<Options> = ['read', 'swap', 'name', ...swapNames]

/**
 * Makes a store of anything that can read a text, and replace it unless others have replaced it first.
 *
 * Keys have at most 250 ASCII characters and no spaces. A call rejects with HeadgateError `HEADGATE_STORE` if `read` or
 * `swap` fails, with `HEADGATE_STORE_TIMEOUT` after the timeout, and with `HEADGATE_STATE_SIZE` for a text that is too
 * large.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid. A limiter on this store also
 * throws `HEADGATE_STATE_SIZE`
 */
export function compareAndSetStore<Version>(options: CompareAndSetOptions<Version>): RecordStore {
  const store = 'compareAndSetStore'
  knownOptions(store, options, known)
  const { read, swap, retries = 30, maxBytes = Number.MAX_SAFE_INTEGER, name = 'The store' } = options
  for (const [option, value] of Object.entries({ read, swap })) {
    if (typeof value !== 'function') throw wrongOption(store, option, value, 'Give a function.')
  }
  const clock = options.clock === undefined ? wallClock : checkClock(options.clock)
  const { prefix, timeout, ttlMargin, breaker } = sharedOptions(store, options)
  const bytes = positiveInteger(maxBytes, `${store}: maxBytes`, 'HEADGATE_OPTION')
  const size = { store: name, bytes }
  const kind = options.name === undefined ? 'compare-and-set' : name.toLowerCase()
  const runner = new SwapRunner({
    read,
    swap,
    retries: positiveInteger(retries, `${store}: retries`, 'HEADGATE_OPTION'),
    ttlMargin,
    clock,
    usesStoreTime: options.clock === undefined,
    size,
    kind,
  })
  const queue = new KeyQueue((jobs) => jobs.map((job) => runner.run(job)), timeout)
  const deadlines = new Deadlines(name, timeout)
  return new RecordStore({
    kind,
    prefix,
    timeout,
    breaker,
    clock,
    queue,
    deadlines,
    size,
    read: (keys) => runner.read(keys),
  })
}
