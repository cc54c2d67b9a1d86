import { fixedWindow, memoryStore, RateLimiter, slidingLog } from 'headgate'
import { calendarWindow } from 'headgate/calendar'
import { addresses, uniform, zipf } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { syncLoop, timed, timedDifference } from '../lib/timing.mjs'
import { floors, inTurns, ours, peers, read, several } from '../targets/memory.mjs'

/** So large that no call is refused, however long the run is. */
const open = 1_000_000_000
const calls = 2 ** 21
const hot = ['203.0.113.7']

const workloads = {
  'one hot key': { keys: 1, order: () => hot },
  '10,000 keys': { keys: 10_000, order: () => uniform(addresses(10_000), calls) },
  '1,000,000 keys, Zipf': { keys: 1_000_000, order: () => zipf(addresses(1_000_000), calls) },
}

/** The cases of the quick set. */
const quick = {
  'one hot key': /^(?!.*(awaited|fixedWindow))/,
  '1,000,000 keys, Zipf': /^(lru-cache|headgate slidingWindow$|rate-limiter-flexible|express|@fastify)/,
}

async function decide(make, { keys, order }) {
  const asked = order()
  const loop = make(asked, { limit: open, keys })
  if (keys > 1) await loop(calls) // every key is there before anything is measured
  return timed(loop)
}

async function refuse(make) {
  const loop = make(hot, { limit: 5, keys: 1 })
  const admitted = await loop(8)
  if (admitted !== 5) throw new Error(`admitted ${admitted} of 8, the limit is 5`)
  return timed(loop, false)
}

const kinds = [
  ['floor', floors],
  ['headgate', ours],
  ['peer', peers],
]

const decisions = Object.entries(workloads).flatMap(([workload, terms]) =>
  kinds.flatMap(([kind, makers]) =>
    Object.entries(makers)
      .filter(([target]) => target !== 'clock read' || terms.keys === 1)
      .map(([target, make]) => ({
        workload,
        target,
        kind,
        quick: quick[workload]?.test(target) ?? false,
        measure: () => decide(make, terms),
      })),
  ),
)

const mixed = {
  workload: 'one hot key',
  target: 'headgate, five algorithms mixed',
  kind: 'headgate',
  measure: () => timed(inTurns(hot, { limit: open })),
}

const refusals = [
  ['headgate', ours],
  ['peer', peers],
].flatMap(([kind, makers]) =>
  Object.entries(makers).map(([target, make]) => ({
    workload: 'a refused decision',
    target,
    kind,
    quick: target === 'headgate slidingWindow' || target === 'rate-limiter-flexible',
    measure: () => refuse(make),
  })),
)

const unions = Object.entries(several).flatMap(([target, make]) =>
  [1, 4].map((count) => ({
    workload: 'several policies at once, one hot key',
    target: `${target}, ${count === 1 ? 'one' : 'four'}`,
    kind: target.startsWith('headgate') ? 'headgate' : 'peer',
    measure: () => timed(make(hot, { limit: open, count })),
  })),
)

const aDay = 86_400_000_000

/**
 * A full log, on a clock that moves on by window / limit with each call. Each call is admitted and drops the oldest entry. The
 * first `limit` calls fill the log.
 */
export async function fullLog(limit) {
  let now = aDay * 20_000
  const share = aDay / limit
  const store = memoryStore({ clock: () => now })
  const limiter = new RateLimiter({ policies: slidingLog({ limit, window: '1d' }), store })
  const loop = syncLoop(hot, (key) => {
    now += share
    return read(limiter.consumeSync(key))
  })
  loop(limit)
  return timed(loop)
}

/** The usual log: an array of times that is filtered on each call. */
export async function filteredLog(limit) {
  let now = aDay * 20_000
  const share = aDay / limit
  let times = Array.from({ length: limit }, (_, n) => now - aDay + (n + 1) * share)
  return timed(
    syncLoop(hot, () => {
      now += share
      times = times.filter((time) => time > now - aDay)
      if (times.length >= limit) return false
      times.push(now)
      return true
    }),
  )
}

const logs = [100, 10_000].flatMap((limit) => [
  { target: `headgate slidingLog, ${limit} a day`, kind: 'headgate', measure: () => fullLog(limit) },
  { target: `an array of times, filtered, ${limit} a day`, kind: 'floor', measure: () => filteredLog(limit) },
])

const days = Array.from({ length: 10_000 }, (_, n) => new Date(Date.UTC(2024, n % 24, 1 + (n % 28), n % 24)))
const texts = days.map((day) => day.toISOString().slice(0, 10))
const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata']
const caller = { anchor: 'caller' }
const callers = { anchor: 'caller', timeZone: 'caller' }

/** Windows of a month: the options of the policy, and what the call of the customer n says. Each call makes the objects anew. */
const months = {
  'of the policy': { options: { anchor: 15, timeZone: 'Europe/Berlin' }, said: () => undefined },
  'by a day of the month': { options: caller, said: (n) => ({ calendar: { anchor: 1 + (n % 31) } }) },
  'by a date as text': { options: caller, said: (n) => ({ calendar: { anchor: texts[n] } }) },
  'by a Date': { options: caller, said: (n) => ({ calendar: { anchor: days[n] } }) },
  'by a day and a time zone': {
    options: callers,
    said: (n) => ({ calendar: { anchor: 1 + (n % 31), timeZone: zones[n % 3] } }),
  },
  'by a Date and a time zone': {
    options: callers,
    said: (n) => ({ calendar: { anchor: days[n], timeZone: zones[n % 3] } }),
  },
}

/** Both limiters get the same keys, one after the other, in turns in one process. */
function compareMonth({ options, said }) {
  const keys = addresses(days.length)
  const month = new RateLimiter({ policies: calendarWindow({ limit: open, every: 'month', ...options }) })
  const fixed = new RateLimiter({ policies: fixedWindow({ limit: open, window: '30d' }) })
  const loop = (ask) => {
    let next = 0
    return (n) => {
      let admitted = 0
      for (let i = 0; i < n; i++) {
        next = next + 1 < keys.length ? next + 1 : 0
        if (read(ask(next))) admitted++
      }
      return admitted
    }
  }
  return timedDifference(
    loop((n) => fixed.consumeSync(keys[n])),
    loop((n) => month.consumeSync(keys[n], said(n))),
  )
}

const anchors = Object.entries(months).map(([target, terms]) => ({
  workload: 'calendarWindow by its anchor, 10,000 keys',
  target,
  kind: 'headgate',
  measure: () => compareMonth(terms),
}))

/** CPU time first, because a busy machine hardly changes it. On a quiet machine both are the same. */
const columns = [
  { metric: 'cpuNs', label: 'CPU ns' },
  { metric: 'ns', label: 'wall ns' },
]
const toHeadgate = { to: 'headgate slidingWindow', label: 'to headgate' }
const table = { metric: 'cpuNs', columns, ratio: toHeadgate }

export default defineSuite({
  name: 'core',
  title: 'A decision in memory',
  rounds: 5,
  workloads: [
    { ...table, name: 'one hot key', plot: true },
    { ...table, name: '10,000 keys', plot: true },
    { ...table, name: '1,000,000 keys, Zipf', plot: true },
    { ...table, name: 'a refused decision', plot: true },
    {
      ...table,
      name: 'several policies at once, one hot key',
      ratio: { to: 'headgate slidingWindow, one', label: 'to one policy of headgate' },
    },
    {
      ...table,
      name: 'a full log, one hot key',
      ratio: { to: 'headgate slidingLog, 100 a day', label: 'to headgate, 100 a day' },
    },
    {
      name: 'calendarWindow by its anchor, 10,000 keys',
      metric: 'times',
      columns: [
        { metric: 'times', label: 'x fixedWindow' },
        { metric: 'cpuNs', label: 'CPU ns' },
        { metric: 'withoutNs', label: 'CPU ns of fixedWindow' },
      ],
    },
  ],
  cases: [
    ...decisions,
    mixed,
    ...refusals,
    ...unions,
    ...logs.map((each) => ({ workload: 'a full log, one hot key', ...each })),
    ...anchors,
  ],
  aims: [
    { workload: 'one hot key', target: 'headgate slidingWindow', metric: 'cpuNs', most: 90 },
    {
      workload: 'one hot key',
      target: 'rate-limiter-flexible',
      metric: 'cpuNs',
      to: 'headgate slidingWindow',
      least: 2.4,
    },
    { workload: '10,000 keys', target: 'headgate slidingWindow', metric: 'cpuNs', most: 140 },
    { workload: '1,000,000 keys, Zipf', target: 'headgate slidingWindow', metric: 'cpuNs', most: 600 },
    {
      workload: '1,000,000 keys, Zipf',
      target: 'headgate slidingWindow',
      metric: 'cpuNs',
      to: 'lru-cache get + set',
      most: 1.3,
    },
    { workload: 'a refused decision', target: 'headgate slidingWindow', metric: 'cpuNs', most: 90 },
    {
      workload: 'several policies at once, one hot key',
      target: 'headgate slidingWindow, four',
      metric: 'cpuNs',
      to: 'headgate slidingWindow, one',
      most: 2,
    },
    { workload: 'a full log, one hot key', target: 'headgate slidingLog, 10000 a day', metric: 'cpuNs', most: 200 },
    ...anchors.map(({ workload, target }) => ({ workload, target, metric: 'times', most: 1.3 })),
  ],
})
