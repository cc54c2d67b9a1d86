import { randomOf } from '../../../../lab/engine/random.mjs'
import { workloads } from '../../../../lab/engine/workloads.mjs'

/** A longer workload is cut, to keep the page quick. */
export const mostRequests = 500_000

const abouts = {
  tokens: 'random gaps; a request costs 200 to 4,000 tokens, and a few cost 12,000',
  drawn: 'drag across the columns, or use the arrow keys',
  log: 'each client address has a limit of its own',
}

/** What a workload is, in a line. */
export function aboutOf(name) {
  return abouts[name] ?? workloads[name].about
}

/**
 * The requests of the chosen workload against a policy.
 * @param {{ start: number, requests: object[] }} [log] those of a dropped log
 */
export function workloadFor({ workload, rate, seconds, clients, seed, drawn }, { limit, window }, log) {
  if (workload === 'log') return log ?? { requests: [] }
  if (workload === 'drawn') return drawnWorkload(drawn, seconds, clients)
  const duration = Math.min(seconds, mostRequests / rate) * 1000
  const terms = { rate, duration, clients, random: randomOf(seed), limit, window }
  return workload === 'tokens' ? tokenWorkload(terms) : workloads[workload].make(terms)
}

/** Calls of a language model: one in ten is long. */
function tokenWorkload(terms) {
  const { requests } = workloads.poisson.make(terms)
  const costOf = () => (terms.random() < 0.1 ? 12_000 : 200 + Math.floor(terms.random() * 3800))
  return { requests: requests.map((request) => ({ ...request, cost: costOf() })) }
}

/** The rates of a drawn line, one after the other. */
function drawnWorkload(rates, seconds, clients) {
  const width = (seconds * 1000) / rates.length
  const requests = []
  for (const [n, rate] of rates.entries()) {
    const count = Math.round((rate * width) / 1000)
    for (let k = 0; k < count; k++) {
      requests.push({ time: Math.round((n + k / count) * width * 1000) / 1000, client: requests.length % clients })
    }
  }
  return { requests }
}
