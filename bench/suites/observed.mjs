import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { memoryStore, RateLimiter, slidingWindow } from 'headgate'
import { HeadgateInstrumentation } from 'headgate/otel'
import { addresses, zipf } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { syncLoop, timed } from '../lib/timing.mjs'
import { read } from '../targets/memory.mjs'

/** So large that no call is refused, however long the run is. */
const limit = 1_000_000_000
const hot = ['203.0.113.7']

class PullReader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

function meterProvider() {
  return new MeterProvider({ readers: [new PullReader()] })
}

/** Each case runs in a process of its own, so nothing has to be stopped. */
const observers = {
  'nobody listens': () => {},
  metrics: () => void new HeadgateInstrumentation({ meterProvider: meterProvider() }),
}

/** With 1,000 counters. Every key of the largest order is new to them. */
const orders = {
  'one hot key': () => hot,
  '100,000 keys, Zipf': () => zipf(addresses(100_000), 2 ** 19),
}

const tops = Object.entries(orders).flatMap(([workload, order]) =>
  [undefined, 1000].map((top) => ({
    workload: `the heaviest keys, ${workload}`,
    target: top === undefined ? 'not counted' : 'counted (top: 1000)',
    kind: top === undefined ? 'floor' : 'headgate',
    measure() {
      const policies = slidingWindow({ limit, window: '1h' })
      const limiter = new RateLimiter({ policies, store: memoryStore(), ...(top && { top }) })
      return timed(syncLoop(order(), (key) => read(limiter.consumeSync(key))))
    },
  })),
)

const metered = Object.entries(observers).map(([target, start]) => ({
  workload: 'one hot key, observed',
  target,
  kind: target === 'metrics' ? 'headgate' : 'floor',
  quick: true,
  measure() {
    start()
    const limiter = new RateLimiter({ policies: slidingWindow({ limit, window: '1h' }), store: memoryStore() })
    return timed(syncLoop(hot, (key) => read(limiter.consumeSync(key))))
  },
}))

/** What the usual way would cost for each of the two counters of a decision. */
const counterAdd = {
  workload: 'one hot key, observed',
  target: 'one add to a counter of the SDK',
  kind: 'floor',
  measure() {
    const counter = meterProvider().getMeter('bench').createCounter('decisions')
    const attributes = { limiter: 'api', policy: '1h', result: 'admitted' }
    return timed(
      syncLoop(hot, () => {
        counter.add(1, attributes)
        return true
      }),
    )
  },
}

const columns = [
  { metric: 'cpuNs', label: 'CPU ns' },
  { metric: 'ns', label: 'wall ns' },
]

export default defineSuite({
  name: 'observed',
  title: 'A decision that is observed',
  rounds: 5,
  workloads: [
    {
      name: 'one hot key, observed',
      metric: 'cpuNs',
      columns,
      ratio: { to: 'nobody listens', label: 'to nobody listens' },
    },
    ...Object.keys(orders).map((name) => ({
      name: `the heaviest keys, ${name}`,
      metric: 'cpuNs',
      columns,
      ratio: { to: 'not counted', label: 'to not counted' },
    })),
  ],
  cases: [...metered, counterAdd, ...tops],
  aims: [{ workload: 'one hot key, observed', target: 'metrics', metric: 'cpuNs', most: 390 }],
})
