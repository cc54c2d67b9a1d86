/*
 * npm run bench:overload: what a store of 5,000 keys admits when more are live, and whom it refuses wrongly. Counted, not
 * timed, on a clock of its own; only the places of the remembered keys are others in each run. With words, only the
 * policies that have them all.
 */
import { fixedWindow, memoryStore, policy, tokenBucket } from '../../dist/src/index.js'
import { leastRecentlyUsed, overload, planned } from './overload.mjs'

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

const limits = [4, 8, 20]
/** Three plans each: what each key has, or each in its turn. */
const plans = {
  tokenBucket: limits.map((each) => [policy(`${each}/1m token-bucket`)]),
  fixedWindow: limits.map((each) => [policy(`${each}/1m fixed-window`)]),
  'from the first request': limits.map((each) => [fixedWindow({ limit: each, window: '1m', align: 'first-request' })]),
  slidingWindow: limits.map((each) => [policy(`${each}/1m`)]),
  slidingLog: limits.map((each) => [policy(`${each}/1m sliding-log`)]),
  mixed: [
    [policy('4/1m')],
    [policy('8/1m token-bucket'), policy('200/1h')],
    [policy('20/1m fixed-window'), policy('1000/1d token-bucket')],
  ],
}
const turn = 17_000_000

function line(...cells) {
  console.log(cells.map((cell, n) => (n === 0 ? cell.padEnd(28) : cell.padStart(12))).join(' '))
}

function print(name, store, load, terms) {
  const [tightest] = terms
  const ledgerOf = (options) => memoryStore(options).open({ name, policies: terms, scopes: ['default'] })
  report(
    name,
    store,
    load,
    overload({ capacity, ...load }, stores[store](ledgerOf), () => tightest.limit),
  )
}

/** @param turns microseconds after which a key goes on to the next plan */
function printPlans(name, load, all, turns) {
  const open = (clock, maxKeys) => {
    const [first, ...others] = all.map((policies) => ({ name, policies, scopes: ['default'] }))
    const ledger = memoryStore({ clock, maxKeys }).open(first)
    return planned([ledger, ...others.map((terms) => ledger.vary(terms))], clock, turns)
  }
  const limitOf = (key) => limits[turns === Infinity ? key % limits.length : 0]
  report(
    `plans: ${name}`,
    turns === Infinity ? 'by key' : 'by turns',
    load,
    overload({ capacity, ...load }, open, limitOf),
  )
}

function report(name, store, load, { overAdmission, worst, wrongly }) {
  const percent = `${(100 * wrongly).toFixed(3)} %`
  line(name, store, `${load.live}`, `${100 * load.abusive} %`, overAdmission.toFixed(4), worst.toFixed(2), percent)
}

line('', 'store', 'live keys', 'abusive', 'admitted/due', 'worst key', 'wrongly')
const asked = (name) => process.argv.slice(2).every((word) => name.includes(word))
for (const [name, terms] of Object.entries(policies)) {
  if (!asked(name)) continue
  for (const load of loads) print(name, 'remember', { windows: 2, ...load }, terms)
}
for (const store of ['forget', 'LRU']) {
  for (const live of [6000, 10_000])
    print('slidingWindow', store, { live, abusive: 1, greed: 10, windows: 2 }, policies.slidingWindow)
}
for (const [name, all] of Object.entries(plans)) {
  if (!asked(`plans: ${name}`)) continue
  for (const live of [6000, 10_000, 50_000, 100_000]) {
    for (const turns of [Infinity, turn]) printPlans(name, { live, abusive: 0.2, windows: 2 }, all, turns)
  }
}
