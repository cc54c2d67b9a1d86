/*
 * npm run bench:overload: what a store of 5,000 keys admits when more are live, and whom it refuses wrongly. Counted, not
 * timed, on a clock of its own; only the places of the remembered keys are others in each run. With words, only the
 * policies that have them all.
 */
import { memoryStore, policy, tokenBucket } from '../../dist/src/index.js'
import { leastRecentlyUsed, overload } from './overload.mjs'

const capacity = 5000
const limit = 4

const policies = {
  tokenBucket: [policy('4/1m token-bucket')],
  'tokenBucket, by interval': [tokenBucket({ limit, window: '1m', refill: 'interval' })],
  fixedWindow: [policy('4/1m fixed-window')],
  slidingWindow: [policy('4/1m')],
  segmentedWindow: [policy('4/1m segmented-window')],
  gcra: [policy('4/1m gcra')],
  slidingLog: [policy('4/1m sliding-log')],
  'slidingLog of 20': [policy('20/1m sliding-log')],
  'tokenBucket and fixedWindow': [policy('4/1m token-bucket'), policy('120/1h fixed-window')],
}

const loads = [
  { live: 6000, abusive: 0.2 },
  { live: 10_000, abusive: 0.2 },
  { live: 50_000, abusive: 0 },
  { live: 50_000, abusive: 0.2 },
  { live: 50_000, abusive: 0.5 },
  { live: 100_000, abusive: 0.2 },
]

const stores = {
  remember: (ledgerOf) => (clock, maxKeys) => ledgerOf({ clock, maxKeys, onFull: 'remember' }),
  forget: (ledgerOf) => (clock, maxKeys) => ledgerOf({ clock, maxKeys, onFull: 'forget' }),
  LRU: (ledgerOf) => (clock, maxKeys) => leastRecentlyUsed(ledgerOf({ clock }), maxKeys),
}

function line(...cells) {
  console.log(cells.map((cell, n) => (n === 0 ? cell.padEnd(28) : cell.padStart(12))).join(' '))
}

function print(name, store, load, terms) {
  const [tightest] = terms
  const ledgerOf = (options) => memoryStore(options).open({ name, policies: terms, scopes: ['default'] })
  const { overAdmission, worst, wrongly } = overload({ capacity, ...load }, stores[store](ledgerOf), tightest.limit)
  const percent = `${(100 * wrongly).toFixed(3)} %`
  line(name, store, `${load.live}`, `${100 * load.abusive} %`, overAdmission.toFixed(4), worst.toFixed(2), percent)
}

line('', 'store', 'live keys', 'abusive', 'admitted/due', 'worst key', 'wrongly')
for (const [name, terms] of Object.entries(policies)) {
  if (!process.argv.slice(2).every((word) => name.includes(word))) continue
  for (const load of loads) print(name, 'remember', { windows: 2, ...load }, terms)
}
for (const store of ['forget', 'LRU']) {
  for (const live of [6000, 10_000])
    print('slidingWindow', store, { live, abusive: 1, greed: 10, windows: 2 }, policies.slidingWindow)
}
