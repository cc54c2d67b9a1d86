import { logFiles, logSettings } from '../cli/log-settings.mjs'
import { helpOf, logOptions, numberOf, oneOf } from '../cli/options.mjs'
import { policiesOf } from '../cli/policies.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { stores } from '../engine/fleet.mjs'
import { Names } from '../engine/names.mjs'
import { simulate as play, workloadOf } from '../engine/simulate.mjs'
import { workloads } from '../engine/workloads.mjs'
import { simulateReport } from '../report/simulate.mjs'
import { readLog } from './read-log.mjs'

const use = `simulate --workload poisson --policy '10/1s' --policy '10/1s burst 20'`
const names = Object.keys(workloads)
const options = {
  workload: { type: 'string', default: 'poisson', help: 'NAME', about: `${names.join(', ')}, or log` },
  policy: { type: 'string', multiple: true, help: 'POLICY', about: 'a limit to try; give several to compare them' },
  rate: { type: 'string', default: '20', help: 'NUMBER', about: 'requests a second of all clients together' },
  seconds: { type: 'string', help: 'NUMBER', about: 'how long the workload lasts (default 60; driver: up to 3600)' },
  clients: { type: 'string', default: '1', help: 'NUMBER', about: 'how many clients there are' },
  shared: { type: 'boolean', about: 'all clients share one limit' },
  processes: { type: 'string', default: '1', help: 'NUMBER', about: 'processes that requests go to in turn' },
  store: {
    type: 'string',
    default: 'memory',
    help: 'NAME',
    about: 'memory or lru: one in each process; shared: one for all',
  },
  seed: { type: 'string', default: '1', help: 'NUMBER', about: 'the same seed gives the same random requests' },
  ...logOptions,
}

export const simulate = {
  summary: 'what policies do under a made workload, on a virtual clock',
  use,
  options,
  help: `${helpOf(use, options)}\n\nWorkloads:\n${names.map((name) => `  ${name.padEnd(14)} ${workloads[name].about}`).join('\n')}`,
  takesFiles: true,
  run,
}

async function run(options) {
  const policies = policiesOf(options.policy, use)
  const name = oneOf(options.workload, 'workload', [...names, 'log'])
  const seconds = options.seconds ?? (name === 'driver' ? '3600' : '60') // the driver ends by itself, after its last phase
  const terms = {
    rate: numberOf(options.rate, 'rate', 1, 100_000),
    duration: numberOf(seconds, 'seconds', 1, 86_400) * 1000,
    clients: numberOf(options.clients, 'clients', 1, 1_000_000),
    seed: numberOf(options.seed, 'seed', 0, 2 ** 32 - 1),
  }
  const fleet = {
    store: oneOf(options.store, 'store', Object.keys(stores)),
    processes: numberOf(options.processes, 'processes', 1, 1000),
    sharedKey: options.shared === true,
  }
  const { log, make } = await workloadMaker(name, terms, options)
  const played = []
  for (const { text, policy } of policies) played.push({ policy: text, ...(await play(make(policy), policy, fleet)) })
  const result = { command: 'simulate', workload: name, ...terms, ...fleet, ...(log && { log }), policies: played }
  const worst = played.reduce((a, b) => (b.refusedShare > a.refusedShare ? b : a))
  return {
    result,
    report: simulateReport(result),
    worst: { what: `${worst.policy} refuses`, share: worst.refusedShare },
  }
}

/** Returns a function that makes the workload for each policy. The workload of a log is the same for all policies. */
async function workloadMaker(name, terms, options) {
  if (name !== 'log') {
    if (options.positionals.length === 0) return { make: (policy) => workloadOf(name, terms, policy) }
    const [given] = options.positionals
    const fix = Object.hasOwn(workloads, given)
      ? `Write --workload ${given}.`
      : `Write --workload log to play ${options.positionals.join(' ')}.`
    throw new UsageError(`The workload ${name} reads no file.`, fix)
  }
  const requests = []
  const clients = new Names()
  let start
  const log = await readLog(logFiles(options, use), logSettings(options), (client, { time }) => {
    start ??= Math.floor(time / 86_400_000) * 86_400_000 // a boundary of every window up to a day, as in the log
    requests.push({ time: time - start, client: clients.numberOf(client) })
  })
  return { log, make: () => ({ requests }) }
}
