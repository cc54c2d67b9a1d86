import { quantileNames } from '../engine/quantiles.mjs'
import { count, percent } from './format.mjs'
import { logFacts, logName, span } from './replay.mjs'

export function suggestReport(result) {
  const { requests, clients, log, windows, grid, affect, cautions } = result
  return {
    title: `Limits for ${logName(log)}`,
    facts: [...logFacts(log), `${count(requests)} requests of ${count(clients)} clients, ${span(result)}`],
    sections: [
      suggested(windows, grid, affect, log.file),
      busiest(windows),
      gridSection(grid, affect),
      ...(cautions.length > 0 ? [{ heading: 'Cautions', notes: cautions.map((text) => `- ${text}`) }] : []),
    ],
  }
}

function suggested(windows, grid, affect, file) {
  const columns = ['limit', '#refused', '#share', '#clients affected', '#share', 'as a bucket']
  const rows = windows.map(({ suggested }) => [
    suggested.policy,
    count(suggested.refused),
    percent(suggested.refusedShare),
    count(suggested.clientsAffected),
    percent(suggested.clientsAffectedShare),
    `${suggested.policy} burst ${suggested.burst}`,
  ])
  const some = windows.filter(({ window }) => window === '1m' || window === '1h')
  const policies = some.map(({ suggested }) => `--policy '${suggested.policy}'`).join(' ')
  return {
    heading: `The least limits that affect at most ${percent(affect)} of the clients`,
    notes: [
      'As a bucket: the same rate, with the least burst that affects no more clients.',
      `See what they do: headgate-lab replay ${file} ${policies}`,
    ],
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
    notes: ['p99 of 30 means: 99 % of the clients never make more than 30.'],
    bars: windows.map(({ window, quantiles }) => ({ label: window, quantiles })),
    tables: [{ columns, rows }],
  }
}

function gridSection(grid, affect) {
  const columns = ['limit', ...grid[0].windows.map(({ window }) => `#${window}`)]
  const cell = ({ refused, refusedShare, clientsAffected }) =>
    refused === 0 ? '-' : `${percent(refusedShare)} / ${count(clientsAffected)}`
  const rows = grid.map(({ limit, windows }) => [count(limit), ...windows.map(cell)])
  const fits = ({ clientsAffectedShare }) => clientsAffectedShare <= affect
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
