/*
 * npm run bench:overload: what a full store admits, and how many calls it refuses wrongly. It holds 5,000 keys, or 1,000
 * under plans, and more keys are live.
 * Counted, not timed, on a clock of its own. Runs differ only in the seed of the overflow table. Words after the command
 * select the policies whose names have them all.
 */
import { fixedWindow, lruStore, memoryStore, policy, tokenBucket } from 'headgate'
import { overload, planned } from './overload.mjs'

const capacity = 5000
const planCapacity = 1000
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
  remember: (options) => memoryStore({ ...options, onFull: 'remember' }),
  forget: (options) => memoryStore({ ...options, onFull: 'forget' }),
  LRU: lruStore,
}

const limits = [4, 8, 20]
/** Three plans each: every key stays with one, or goes on to the next every 17 seconds. */
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
const period = 17_000_000

const scopes = ['default']

function print(...cells) {
  console.log(cells.map((cell, n) => (n === 0 ? cell.padEnd(42) : cell.padStart(12))).join(' '))
}

function run(name, store, load, policies) {
  const [tightest] = policies
  const open = (clock, maxKeys) => stores[store]({ clock, maxKeys }).open({ name, policies, scopes })
  report(
    name,
    store,
    load,
    overload({ capacity, ...load }, open, () => tightest.limit),
  )
}

function runPlans(name, store, load, all, changesAfter) {
  const stays = changesAfter === Infinity
  const open = (clock, maxKeys) => {
    const [first, ...others] = all.map((policies) => ({ name, policies, scopes }))
    const made = stores[store]({ clock, maxKeys })
    const ledger = made.open(first)
    return planned([ledger, ...others.map((terms) => made.open(terms, ledger))], clock, changesAfter)
  }
  const limitOf = (key) => limits[stays ? key % limits.length : 0]
  const title = `plans${stays ? '' : ' that change'}: ${name}`
  report(title, store, load, overload({ capacity: planCapacity, ...load }, open, limitOf))
}

function report(name, store, load, { overAdmission, worst, wrongly }) {
  const percent = `${(100 * wrongly).toFixed(3)} %`
  print(name, store, `${load.live}`, `${100 * load.abusive} %`, overAdmission.toFixed(4), worst.toFixed(2), percent)
}

print('', 'store', 'live keys', 'abusive', 'admitted/due', 'worst key', 'wrongly')
const selected = (name) => process.argv.slice(2).every((word) => name.includes(word))
for (const [name, each] of Object.entries(policies)) {
  if (!selected(name)) continue
  for (const load of loads) run(name, 'remember', { windows: 2, ...load }, each)
}
for (const store of ['forget', 'LRU']) {
  if (!selected('slidingWindow')) continue
  for (const live of [6000, 10_000])
    run('slidingWindow', store, { live, abusive: 1, greed: 10, windows: 2 }, policies.slidingWindow)
}
for (const [name, all] of Object.entries(plans)) {
  if (!selected(`plans: ${name}`)) continue
  for (const live of [1200, 2000, 10_000, 20_000]) {
    for (const changesAfter of [Infinity, period])
      runPlans(name, 'remember', { live, abusive: 0.2, windows: 2 }, all, changesAfter)
  }
}
for (const store of ['forget', 'LRU']) {
  if (!selected('plans: slidingWindow')) continue
  for (const live of [1200, 2000, 10_000])
    runPlans('slidingWindow', store, { live, abusive: 0.2, windows: 2 }, plans.slidingWindow, Infinity)
}
