import { defineSuite } from '../lib/suite.mjs'
import { floors, ours, peers } from '../targets/pacers.mjs'

function timers() {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

function cpu() {
  const { user, system } = process.cpuUsage()
  return user + system
}

/**
 * All callers call at once, at a quarter of their number a second. The figures are CPU time, which does not include the
 * waiting, the number of timers, and whether the callers went in the order in which they came.
 */
export async function crowd(make, waiters, limited = true) {
  await warm(make, Math.ceil(waiters / 5))
  const limit = Math.ceil(waiters / 4)
  const before = timers()
  const run = make(limit)
  const order = []
  const since = performance.now()
  const start = cpu()
  const calls = Array.from({ length: waiters }, (_, n) => run(() => order.push(n)))
  const entering = cpu() - start
  const waiting = timers() - before
  await Promise.all(calls)
  const whole = cpu() - start
  const seconds = (performance.now() - since) / 1000
  if (order.length !== waiters) throw new Error(`${order.length} of ${waiters} had their slot`)
  // A clock window may end just after the callers come. Then the calls of two windows go at once, and no more.
  if (limited && waiters > (seconds + 2) * limit)
    throw new Error(`${waiters} went in ${seconds} s at ${limit} a second`)
  const ordered = order.every((each, n) => each === n)
  return { cpuUs: whole / waiters, enterUs: entering / waiters, timers: waiting, ordered: ordered ? 1 : 0 }
}

/** Before the measurement, some calls go at once and some wait. */
async function warm(make, calls) {
  const run = make(Math.ceil(calls / 2))
  await Promise.all(Array.from({ length: calls }, () => run(() => 0)))
}

const many = 'waiters at once: 100,000'
const fewer = 'waiters at once: 5,000'

function cases(workload, waiters, kind, makers) {
  return Object.entries(makers).map(([target, make]) => ({
    workload,
    target,
    kind,
    measure: () => crowd(make, waiters, kind !== 'floor'),
  }))
}

const { bottleneck, 'p-throttle, strict': strict, ...quick } = peers

const columns = [
  { metric: 'cpuUs', label: 'CPU us a call' },
  { metric: 'enterUs', label: 'of it to enter' },
  { metric: 'timers', label: 'timers' },
  { metric: 'ordered', label: 'in order' },
]
const table = { metric: 'cpuUs', columns, ratio: { to: 'headgate slidingLog', label: 'CPU, to headgate' }, plot: true }

export default defineSuite({
  name: 'pacer',
  title: 'Waiting for a slot',
  rounds: 3,
  workloads: [
    { ...table, name: many },
    {
      ...table,
      name: fewer,
      about:
        'bottleneck and strict p-throttle become slower with each waiting call, so they are measured with this lower number.',
    },
  ],
  cases: [
    ...cases(many, 100_000, 'floor', floors),
    ...cases(many, 100_000, 'headgate', ours),
    ...cases(many, 100_000, 'peer', quick),
    ...cases(fewer, 5_000, 'floor', floors),
    ...cases(fewer, 5_000, 'headgate', ours),
    ...cases(fewer, 5_000, 'peer', { ...quick, 'p-throttle, strict': strict, bottleneck }),
  ],
  aims: [{ workload: many, target: 'headgate slidingLog', metric: 'cpuUs', most: 2 }],
})
