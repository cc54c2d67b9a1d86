import {
  type Clock,
  callback,
  clockOr,
  type Readers,
  readOptions,
  type Settled,
  text,
  wallClock,
  whole,
} from '../common/index.ts'
import { Deadlines, type SharedStoreOptions, type SharedTerms, sharedOptions } from './contract/index.ts'
import { KeyQueue, type ReadAndSwap, RecordStore, SwapRunner } from './records/index.ts'

/** The options of `compareAndSetStore`. */
export interface CompareAndSetOptions<Version> extends ReadAndSwap<Version>, SharedStoreOptions {
  /**
   * How often a call tries again if another process has written the key between the `read` and the `swap` of the call. After
   * the last try, the call rejects with HeadgateError `HEADGATE_STORE`. Default 30.
   */
  retries?: number | undefined
  /** The largest size of a stored text in bytes. A limiter whose policies could need more bytes throws. Default: no limit. */
  maxBytes?: number | undefined
  /** Returns whole microseconds since the epoch. Default: the time that `read` returns, else the wall clock. */
  clock?: Clock | undefined
  /** The name of the store in error messages. Default `'The store'`. */
  name?: string | undefined
}

type OwnOptions = Pick<CompareAndSetOptions<unknown>, 'retries' | 'maxBytes' | 'clock'>

export const swapOptions: Readers<SharedTerms & Settled<OwnOptions, 'clock'>> = {
  retries: whole(30),
  maxBytes: whole(Number.MAX_SAFE_INTEGER),
  clock: clockOr(undefined),
  ...sharedOptions,
}

/**
 * Makes a store from any service that can read a text, and can replace the text only if no other process has replaced the text since the
 * read.
 *
 * Keys in the service have at most 250 ASCII characters and no spaces. A call rejects with HeadgateError
 * `HEADGATE_STORE` if `read` or `swap` fails, with `HEADGATE_STORE_TIMEOUT` after the timeout, and with
 * `HEADGATE_STATE_SIZE` for a text beyond `maxBytes`.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid. A limiter on this store also
 * throws `HEADGATE_STATE_SIZE`
 */
export function compareAndSetStore<Version>(options: CompareAndSetOptions<Version>): RecordStore {
  const functions = { read: callback('(key) => ...'), swap: callback('(key, text, version, ttl) => ...') }
  const readers = { ...functions, name: text('The store'), ...swapOptions }
  const terms = readOptions('compareAndSetStore', options, readers)
  const { read, swap, retries, ttlMargin, name, prefix, timeout, breaker, clock = wallClock } = terms
  const size = { store: name, bytes: terms.maxBytes }
  const kind = options.name === undefined ? 'compare-and-set' : name.toLowerCase()
  const runner = new SwapRunner({
    read,
    swap,
    retries,
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
