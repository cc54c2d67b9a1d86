import { addresses } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { asyncLoop, timed } from '../lib/timing.mjs'
import { pairs, withStore } from '../targets/compat.mjs'
import { traffic } from './redis.mjs'

/** More requests than an address makes here, and few enough for a log of them. */
const limit = 1000
const clients = 2 ** 13

function kindOf(target) {
  return target.startsWith('headgate') ? 'headgate' : 'peer'
}

function each(storage, measure) {
  return Object.entries(pairs).flatMap(([framework, targets]) => {
    const all = storage !== 'memory' && framework === 'Express' ? { ...targets, ...withStore } : targets
    return Object.entries(all).map(([target, make]) => ({
      workload: `${framework}, ${storage}`,
      target,
      kind: kindOf(target),
      measure: () => measure(make, framework),
    }))
  })
}

/** Counts in memory. The log of Nest's storage grows with its hits, so its keys are many. */
async function inMemory(make, framework) {
  const nest = framework.startsWith('NestJS')
  const ask = await make(undefined, nest ? limit : 1_000_000_000)
  return timed(asyncLoop(addresses(nest ? 2 ** 17 : clients), ask, Boolean))
}

const many = { flight: 64, calls: 20_000, warm: 20_000, keys: 10_000, limit }
const single = { flight: 1, calls: 10_000, warm: 20_000, keys: 10_000, limit }

const first = (framework) => Object.keys(pairs[framework])[0]

function workloads(storage, metric, columns, ratios) {
  return Object.keys(pairs).map((framework) => ({
    name: `${framework}, ${storage}`,
    metric,
    columns,
    ratio: ratios.map((ratio) => ({ to: first(framework), ...ratio })),
  }))
}

const memoryColumns = [
  { metric: 'cpuNs', label: 'CPU ns a request' },
  { metric: 'ns', label: 'wall ns' },
]
const redisColumns = [
  { metric: 'clientUs', label: 'client CPU us' },
  { metric: 'serverUs', label: 'server CPU us' },
]
const cpuRatios = [
  { metric: 'clientUs', label: 'client CPU, to the package' },
  { metric: 'serverUs', label: 'server CPU' },
]
const redis = 'Redis, 64 in flight'
const alone = 'Redis, 1 in flight'

export default defineSuite({
  name: 'compat',
  title: 'The modules beside the packages that they stand in for',
  rounds: 5,
  redis: true,
  workloads: [
    ...workloads('memory', 'cpuNs', memoryColumns, [{ metric: 'cpuNs', label: 'CPU, to the package' }]),
    ...workloads(redis, 'clientUs', [...redisColumns, { metric: 'perSecond', label: 'requests a second' }], cpuRatios),
    ...workloads(alone, 'clientUs', [...redisColumns, { metric: 'roundTripUs', label: 'us a request' }], cpuRatios),
  ],
  cases: [
    ...each('memory', inMemory),
    ...each(redis, (make) => traffic(make, many)),
    ...each(alone, (make) => traffic(make, single)),
  ],
  aims: Object.entries(pairs).flatMap(([framework, targets]) => {
    const [to, target] = Object.keys(targets)
    return [
      { workload: `${framework}, memory`, target, metric: 'cpuNs', to, most: 1.05 },
      { workload: `${framework}, ${redis}`, target, metric: 'clientUs', to, most: 1.05 },
    ]
  }),
})
