import { defineSuite } from '../lib/suite.mjs'

const workload = 'importing a package'
const ours = ['headgate/express', 'headgate', 'headgate/pacer', 'headgate/redis']
const peers = ['express-rate-limit', 'rate-limiter-flexible']

/** The first import of the process, which has loaded nothing else than this suite. */
async function measure(name) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await import(name)
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { ms, cpuMs: (user + system) / 1000 }
}

export default defineSuite({
  name: 'import',
  title: 'What a cold start pays for an import',
  rounds: 25,
  workloads: [
    {
      name: workload,
      metric: 'ms',
      columns: [
        { metric: 'ms', label: 'ms' },
        { metric: 'cpuMs', label: 'CPU ms' },
      ],
      ratio: { to: 'express-rate-limit', label: 'to express-rate-limit' },
    },
  ],
  cases: [
    ...ours.map((target) => ({ workload, target, kind: 'headgate', measure: () => measure(target) })),
    ...peers.map((target) => ({ workload, target, kind: 'peer', measure: () => measure(target) })),
  ],
  aims: [{ workload, target: 'headgate/express', metric: 'ms', to: 'express-rate-limit', most: 1.3 }],
})
