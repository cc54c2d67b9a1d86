import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { memoryStore, RateLimiter, slidingWindow } from 'headgate'
import { HeadgateInstrumentation } from 'headgate/otel'
import { addresses, zipf } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { syncLoop, timed, timedDifference } from '../lib/timing.mjs'
import { read } from '../targets/memory.mjs'

/** So large that no call is refused, however long the run is. */
const limit = 1_000_000_000

const orders = {
  'one hot key': () => ['203.0.113.7'],
  '100,000 keys, Zipf': () => zipf(addresses(100_000), 2 ** 19),
}

class PullReader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

function meterProvider() {
  return new MeterProvider({ readers: [new PullReader()] })
}

const policies = slidingWindow({ limit, window: '1h' })

function decisions(order, options) {
  const limiter = new RateLimiter({ policies, ...options })
  return syncLoop(order, (key) => read(limiter.consumeSync(key)))
}

/** A store that answers at once. Two tables of 100,000 keys in memory differ by more than counting costs. */
function constantStore() {
  const decision = new RateLimiter({ policies }).consumeSync('any')
  const ledger = { decide: () => decision, reserve: () => ({ decision, wait: 0, tickets: undefined }), reset() {} }
  return { synchronous: true, open: () => ledger }
}

/** Each feature, as two loops over the same keys: without it and with it. */
const features = {
  'metrics (headgate/otel)'(order) {
    const instrumentation = new HeadgateInstrumentation({ meterProvider: meterProvider(), enabled: false })
    const loop = decisions(order, { store: memoryStore() })
    return {
      without: loop,
      withIt(n) {
        instrumentation.enable()
        const admitted = loop(n)
        instrumentation.disable()
        return admitted
      },
    }
  },
  'limiter.top (top: 1000)'(order) {
    const [store, other] = [constantStore(), constantStore()]
    return { without: decisions(order, { store }), withIt: decisions(order, { store: other, top: 1000 }) }
  },
}

const added = Object.entries(orders).flatMap(([workload, order]) =>
  Object.entries(features).map(([target, make]) => ({
    workload,
    target,
    kind: 'headgate',
    quick: workload === 'one hot key',
    measure() {
      const { without, withIt } = make(order())
      return timedDifference(without, withIt)
    },
  })),
)

/** What the usual way would cost for each of the counters of a decision. */
const counterAdd = {
  workload: 'one hot key',
  target: 'one add to a counter of the SDK',
  kind: 'floor',
  async measure() {
    const counter = meterProvider().getMeter('bench').createCounter('decisions')
    const attributes = { limiter: 'api', policy: '1h', result: 'admitted' }
    const { cpuNs } = await timed(
      syncLoop(['203.0.113.7'], () => {
        counter.add(1, attributes)
        return true
      }),
    )
    return { cpuNsAdded: cpuNs }
  },
}

const columns = [
  { metric: 'cpuNsAdded', label: 'added CPU ns' },
  { metric: 'withoutNs', label: 'CPU ns without' },
  { metric: 'cpuNs', label: 'CPU ns with' },
]

/** The most that a feature may add to a decision, in CPU nanoseconds. */
const most = { 'metrics (headgate/otel)': 300, 'limiter.top (top: 1000)': 30 }

export default defineSuite({
  name: 'observed',
  title: 'A decision that is observed',
  rounds: 5,
  workloads: Object.keys(orders).map((name) => ({
    name,
    title: `What it adds: ${name}`,
    metric: 'cpuNsAdded',
    columns,
  })),
  cases: [...added, counterAdd],
  aims: Object.keys(orders).flatMap((workload) =>
    Object.keys(features).map((target) => ({ workload, target, metric: 'cpuNsAdded', most: most[target] })),
  ),
})
