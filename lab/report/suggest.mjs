import { quantileNames } from '../engine/quantiles.mjs'
import { count, duration, percent } from './format.mjs'
import { frameworkCode } from './framework-code.mjs'
import { logFacts, logName, trafficOf } from './replay.mjs'

export function suggestReport(result, framework) {
  const { log, windows, grid, seconds, cautions } = result
  return {
    title: `Limits for ${logName(log)}`,
    facts: [...logFacts(log), trafficOf(result), `Limits tried in ${duration(seconds * 1000)}`],
    sections: [
      busiest(windows),
      gridSection(grid, result),
      suggested(windows, grid, result),
      ...(cautions.length > 0 ? [{ heading: 'Cautions', notes: cautions.map((text) => `- ${text}`) }] : []),
      verdictSection(result, framework),
    ],
  }
}

/** The answer: one policy as code, what it would have done, and to whom. */
function verdictSection({ verdict, requests, clients, windows, key }, framework) {
  const { policy, limit, window, refused, refusedShare, clientsAffected, clientsAffectedShare } = verdict
  const { p99, max } = windows.find((each) => each.window === window).quantiles
  const did =
    refused === 0
      ? 'It would have refused nothing in this log.'
      : `It would have refused ${count(refused)} of ${count(requests)} requests (${percent(refusedShare)}), of ${count(clientsAffected)} of ${count(clients)} clients (${percent(clientsAffectedShare)}).`
  return {
    heading: `Verdict: start with ${policy}`,
    notes: [
      did,
      `Why: 99 % of the clients never send more than ${count(p99)} requests in ${window}, and the busiest sends ${count(max)}.`,
      ...(limit > p99
        ? []
        : ['Some clients of this log are much busier than the others: look at them before you enforce the limit.']),
    ],
    code: frameworkCode(framework, policy, key),
    tables: verdict.clients.length === 0 ? [] : [whoIsHit(verdict.clients)],
  }
}

function whoIsHit(hit) {
  const rows = hit.map(({ name, requests, refused, looksLike }) => [name, count(refused), count(requests), looksLike])
  return { columns: ['client', '#refused', '#of requests', 'looks like (a guess)'], rows }
}

function suggested(windows, grid, { affect, refuse }) {
  const columns = ['limit', '#refused', '#share', '#clients affected', '#share', 'as a bucket']
  const rows = windows.map(({ suggested }) => [
    suggested.policy,
    count(suggested.refused),
    percent(suggested.refusedShare),
    count(suggested.clientsAffected),
    percent(suggested.clientsAffectedShare),
    `${suggested.policy} burst ${suggested.burst}`,
  ])
  return {
    heading: `The least limits that affect at most ${percent(affect)} of the clients and refuse at most ${percent(refuse)} of the requests`,
    notes: ['As a bucket: the same rate, with the least burst that stays within these two shares.'],
    tables: [{ columns, rows }],
    curves: windows.map((each, n) => curve(each, grid, n, affect)),
  }
}

/** The curve of one window: the share that each limit refuses, up to the first limit that refuses nothing. */
function curve({ window, suggested }, grid, n, affect) {
  const points = [suggested, ...grid.map(({ limit, windows }) => ({ limit, ...windows[n] }))]
  const inOrder = points.sort((a, b) => a.limit - b.limit)
  const end = inOrder.findIndex(({ refused }) => refused === 0)
  const shown = end < 0 ? inOrder : inOrder.slice(0, end + 1)
  return {
    title: `Limits for a window of ${window}`,
    limits: shown.map(({ limit }) => limit),
    series: [
      { name: 'clients affected', values: shown.map(({ clientsAffectedShare }) => clientsAffectedShare * 100) },
      { name: 'requests refused', values: shown.map(({ refusedShare }) => refusedShare * 100) },
    ],
    level: affect * 100,
    marked: suggested.limit,
  }
}

function busiest(windows) {
  const columns = ['window', ...quantileNames.map((name) => `#${name}`)]
  const rows = windows.map(({ window, quantiles }) => [window, ...quantileNames.map((name) => count(quantiles[name]))])
  return {
    heading: 'The most requests that a client makes in any window',
    notes: [
      `99 % of the clients never make more than ${count(windows[0].quantiles.p99)} in ${windows[0].window}: p99.`,
    ],
    bars: windows.map(({ window, quantiles }) => ({ label: window, quantiles })),
    tables: [{ columns, rows }],
  }
}

function gridSection(grid, { affect, refuse }) {
  const columns = ['limit', ...grid[0].windows.map(({ window }) => `#${window}`)]
  const cell = ({ refused, refusedShare, clientsAffected }) =>
    refused === 0 ? '-' : `${percent(refusedShare)} / ${count(clientsAffected)}`
  const rows = grid.map(({ limit, windows }) => [count(limit), ...windows.map(cell)])
  const fits = ({ clientsAffectedShare, refusedShare }) => clientsAffectedShare <= affect && refusedShare <= refuse
  const shades = grid.map(({ windows }) => [undefined, ...windows.map((each) => each.clientsAffectedShare)])
  const marked = grid.map(({ windows }, row) => [
    false,
    ...windows.map((each, n) => fits(each) && (row === 0 || !fits(grid[row - 1].windows[n]))),
  ])
  return {
    heading: 'Requests refused / clients affected, by limit and window',
    tables: [{ columns, rows, shades, marked }],
  }
}
