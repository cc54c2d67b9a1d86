import { workloads } from '../engine/workloads.mjs'
import { count, duration, percent } from './format.mjs'
import { logFacts } from './replay.mjs'

export function simulateReport({
  workload,
  rate,
  duration: length,
  clients,
  processes,
  store,
  sharedKey,
  log,
  policies,
}) {
  const who = `${count(clients)} ${clients === 1 ? 'client' : 'clients'}`
  const terms = workloads[workload]?.ownRate
    ? `${who}, at most ${duration(length)}`
    : `${count(rate)} requests a second of ${who} for ${duration(length)}`
  const fleet = `${count(processes)} ${processes === 1 ? 'process' : 'processes'}, store ${store}${sharedKey ? ', one limit for all clients' : ''}`
  return {
    title: `Simulation of the workload ${workload}`,
    facts: [...(log === undefined ? [`The workload: ${terms}`] : logFacts(log)), fleet],
    sections: [...policies.map(overTime), waits(policies), counts(policies)],
  }
}

function counts(policies) {
  const columns = ['policy', '#requests', '#admitted', '#refused', '#share', '#limit', '#most in any window']
  const rows = policies.map((each) => [
    each.policy,
    count(each.requests),
    count(each.admitted),
    count(each.refused),
    percent(each.refusedShare),
    count(each.limit),
    count(each.mostInAnyWindow),
  ])
  const notes = ['The most in any window is what one limit admitted within its window, wherever the window begins.']
  return { heading: 'What each policy has done', notes, tables: [{ columns, rows }] }
}

function waits(policies) {
  const columns = [
    'policy',
    '#told p50',
    '#told max',
    '#waited p50',
    '#waited max',
    '#fairness',
    '#least and most of a client',
  ]
  const rows = policies.map(({ policy, refused, retryAfter, waited, fairness, leastOfAClient, mostOfAClient }) => [
    policy,
    ...[retryAfter.p50, retryAfter.max].map((told) => (refused === 0 ? '-' : duration(told))),
    ...[waited.p50, waited.max].map((wait) => (refused === 0 ? '-' : duration(wait))),
    fairness.toFixed(3),
    `${count(leastOfAClient)} and ${count(mostOfAClient)}`,
  ])
  const notes = [
    'Told: the retryAfter of refused requests. Waited: from the first try to the admission, if the workload tries again.',
    "Fairness is Jain's index over the admitted requests of each client: 1 if all have the same.",
  ]
  return { heading: 'Waits and fairness', notes, tables: [{ columns, rows }] }
}

function overTime({ policy, overTime: { times, admitted, refused } }) {
  const series = [
    { name: 'admitted', values: admitted },
    { name: 'refused', values: refused },
  ]
  return {
    heading: `Policy ${policy}`,
    charts: [{ title: 'Requests over time', relative: true, stacked: true, times, series }],
  }
}
