import { randomOf } from '../../../../lab/engine/random.mjs'
import { workloads } from '../../../../lab/engine/workloads.mjs'

/**
 * The requests of the chosen workload against a policy.
 * @param {{ requests: object[] }} [log] those of a dropped log
 */
export function workloadFor({ workload, rate, seconds, clients, seed, drawn }, { limit, window }, log) {
  if (workload === 'log') return log ?? { requests: [] }
  if (workload === 'drawn') return drawnWorkload(drawn, seconds, clients)
  const duration = seconds * 1000
  return workloads[workload].make({ rate, duration, clients, random: randomOf(seed), limit, window })
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
