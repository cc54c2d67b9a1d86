import { planned } from '../../../bench/overload/overload.mjs'
import {
  type Clock,
  fixedWindow,
  type MemoryStoreOptions,
  type Policy,
  policy,
  tokenBucket,
} from '../../../src/index.ts'
import type { Ledger } from '../../../src/store.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'

/** Policies of which the tightest admits 4 a minute. */
export const algorithms: Record<string, Policy[]> = {
  tokenBucket: [policy('4/1m token-bucket')],
  'tokenBucket, by interval': [tokenBucket({ limit: 4, window: '1m', refill: 'interval' })],
  gcra: [policy('4/1m gcra')],
  fixedWindow: [policy('4/1m fixed-window')],
  'fixedWindow, from the first request': [fixedWindow({ limit: 4, window: '1m', align: 'first-request' })],
  slidingWindow: [policy('4/1m')],
  segmentedWindow: [policy('4/1m segmented-window')],
  slidingLog: [policy('4/1m sliding-log')],
  'two policies': [policy('4/1m token-bucket'), policy('30/1h fixed-window')],
  'three policies, one a log': [policy('4/1m'), policy('30/1h sliding-log'), fixedWindow({ limit: 100, window: '1d' })],
}

const limits = [3, 5, 8]

/** Three plans each, of 3, 5 and 8 a minute. */
export const plans: Record<string, Policy[][]> = {
  tokenBucket: limits.map((limit) => [policy(`${limit}/1m token-bucket`)]),
  fixedWindow: limits.map((limit) => [policy(`${limit}/1m fixed-window`)]),
  slidingWindow: limits.map((limit) => [policy(`${limit}/1m`)]),
  'several algorithms': [
    [policy('3/1m')],
    [policy('5/1m token-bucket'), policy('200/1h')],
    [policy('8/1m fixed-window'), policy('1000/1d token-bucket')],
  ],
}

/** How long a key stays with a plan, if it changes plans, in microseconds. */
export const period = 17_000_000

/** The limit that a key calls by: that of its plan, or the lowest if it changes plans. */
export function limitOf(changesAfter: number): (key: number) => number {
  return (key) => limits[changesAfter === Infinity ? key % limits.length : 0] as number
}

const scopes = ['default']

/** Opens ledgers on memory stores with the same seed in every run. `stats` are those of the first store. */
export function opener(policies: readonly Policy[], options: MemoryStoreOptions = {}) {
  const stores: MemoryStore[] = []
  const openStore = (clock: Clock, maxKeys: number): MemoryStore => {
    const store = new MemoryStore({ ...options, clock, maxKeys }, [20, 26])
    stores.push(store)
    return store
  }
  const open = (clock: Clock, maxKeys: number): Ledger => {
    return openStore(clock, maxKeys).open({ name: 'overload', policies, scopes })
  }
  return { open, openStore, stats: () => (stores[0] as MemoryStore).stats() }
}

/** The same for plans. @param changesAfter microseconds after which a key goes on to the next plan */
export function planOpener([first = [], ...others]: readonly Policy[][], changesAfter: number) {
  const { openStore, stats } = opener(first)
  const openPlans = (clock: Clock, maxKeys: number) => {
    const store = openStore(clock, maxKeys)
    const ledger = store.open({ name: 'overload', policies: first, scopes })
    const under = (policies: Policy[]) => store.open({ name: 'overload', policies, scopes }, ledger)
    return planned([ledger, ...others.map(under)], clock, changesAfter)
  }
  return { open: openPlans, stats }
}
