/*
 * Each process admits its share of a key's units without asking the store, and later reports what it has admitted. The
 * share is an equal part of what remained at the last report. For a call that needs more than the share, the process
 * sends a report, and then the store decides the call.
 *
 *     process A   admit admit |report|   admit admit admit |report, consume|   admit ...
 *                                  \    ^                             \     ^
 *     store                      charge: 40 remain               charge: 37 remain, 36 remain
 *                                      /    v
 *     process B      admit admit |report|   admit ...
 *
 * Why the used units have a bound: `used` is the number of units that the store has counted for a key. `share` is the number of
 * units that a process may still admit before its next report, plus those that the process has admitted since the last report. A
 * share is at most burst / instances, so all shares of `instances` processes are at most `burst`. The store admits, and a report
 * renews a share, only while `used` is at most `burst`. So `used` and all shares together are at most 2 x burst when the store admits or a
 * report renews a share. At all other times, units only move from a share to `used`. The units that a bucket frees for all shares together
 * are at most the units that the bucket frees in `used`. So at any time at most 2 x burst units of a key were admitted, plus the units that
 * came back. This bound holds for every order and timing of calls.
 */
import type { Policy } from '../../algorithms/index.ts'
import {
  anything,
  type Clock,
  duration,
  HeadgateError,
  invalidOption,
  monotonicClock,
  readOptions,
  type Sleeper,
  shown,
  timerSleeper,
  whole,
} from '../../common/index.ts'
import { withFailover } from '../../failure/index.ts'
import type { Documents, Ledger, LedgerTerms, Store, StoreTraits } from '../contract/index.ts'
import { type ExactStore, Reporter } from './reporter.ts'
import { ScopeShares } from './scope-shares.ts'
import { ShareLedger } from './share-ledger.ts'

/** The options of `shareStore`. */
export interface ShareStoreOptions {
  /** The store that all processes share. Example: `redisStore({ client })`. */
  store: Store
  /**
   * How many processes share the limits at most, including old processes that still run during a deploy. Each process admits
   * 1/instances of the remaining units without asking the store. A limiter uses this number as its option `instances`, unless that
   * option is larger. Example: `8`.
   */
  instances: number
  /** How often a process sends reports, in milliseconds or as text, from 1 ms to 1 h. Default `'100ms'`. */
  report?: number | string | undefined
}

const readers = {
  store: anything,
  instances: whole(),
  report: duration('100ms', { most: 3_600_000 }),
}

/**
 * Makes a store in front of `redisStore`. Each process admits `1/instances` of the remaining units without asking Redis, and reports
 * the admitted units later. Redis decides every other call. At any time, a key has used at most twice its burst (see docs/scale.md).
 * @throws HeadgateError `HEADGATE_OPTION` if an option is invalid
 */
export function shareStore(options: ShareStoreOptions): Store {
  const { store, instances, report } = readOptions('shareStore', options, readers)
  if ((store as Store | undefined)?.traits?.kind !== 'redis' || store instanceof ShareStore) {
    throw invalidOption('shareStore: store', 'a store of redisStore', store, 'Pass store: redisStore({ client }).')
  }
  return new ShareStore(store as Store, report, instances)
}

export class ShareStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly documents?: Documents
  readonly #reporter: Reporter<ScopeShares>
  readonly #instances: number

  /**
   * @param exact the store that all processes share
   * @param period how often a process reports, in milliseconds
   * @param instances how many processes share the limits
   */
  constructor(
    exact: ExactStore,
    period: number,
    instances: number,
    clock: Clock = monotonicClock,
    sleeper: Sleeper = timerSleeper(true),
  ) {
    this.traits = { ...exact.traits }
    if (exact.documents !== undefined) this.documents = exact.documents
    this.#reporter = new Reporter<ScopeShares>(exact, period * 1000, clock, sleeper)
    this.#instances = instances
  }

  /** Sends a last report of the units that were not reported yet, and closes the store that gets the reports. */
  close(): void {
    this.#reporter.close()
  }

  /**
   * @throws HeadgateError `HEADGATE_POLICY` for a policy that processes cannot share: a penalty (automatic ban), `concurrency`, a policy
   *   with `countRefused`, `smoothBursty` or `smoothWarmingUp`
   */
  open({ failure, ...terms }: LedgerTerms, joins?: Ledger): Ledger {
    for (const policy of terms.policies) checkPolicy(policy)
    const instances = Math.max(this.#instances, failure?.instances ?? 1)
    const whole = { ...terms, ...(failure && { failure: { ...failure, instances } }) }
    return withFailover(this, whole, joins, (bare) => {
      const shares = bare.scopes.map((scope) => {
        const made = new ScopeShares(bare, scope, this.#reporter, instances)
        return this.#reporter.known(made) ?? made
      })
      return new ShareLedger(bare, this.#reporter, shares)
    })
  }
}

function checkPolicy({ name, countRefused, algorithm }: Policy): void {
  const { punishes, leases, paysLater } = algorithm
  if (!countRefused && !punishes && !leases && !paysLater) return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `shareStore cannot decide the policy ${shown(name)} without asking the store: it has buckets, windows and logs, without ` +
      'countRefused. Give that policy to a limiter on redisStore itself.',
  )
}
