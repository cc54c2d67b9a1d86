import { quantileNames } from '../engine/quantiles.mjs'
import { count, percent } from './format.mjs'
import { logFacts, logName, span } from './replay.mjs'

export function suggestReport(result) {
  const { requests, clients, log, windows, grid, touch, cautions } = result
  return {
    title: `Limits for ${logName(log)}`,
    facts: [...logFacts(log), `${count(requests)} requests of ${count(clients)} clients, ${span(result)}`],
    sections: [
      suggested(windows, grid, touch, log.file),
      busiest(windows),
      gridSection(grid, touch),
      ...(cautions.length > 0 ? [{ heading: 'Cautions', notes: cautions.map((text) => `- ${text}`) }] : []),
    ],
  }
}

function suggested(windows, grid, touch, file) {
  const columns = ['limit', '#refused', '#share', '#clients touched', '#share', 'as a bucket']
  const rows = windows.map(({ suggested }) => [
    suggested.policy,
    count(suggested.refused),
    percent(suggested.refusedShare),
    count(suggested.clientsTouched),
    percent(suggested.clientsTouchedShare),
    `${suggested.policy} burst ${suggested.burst}`,
  ])
  const some = windows.filter(({ window }) => window === '1m' || window === '1h')
  const policies = some.map(({ suggested }) => `--policy '${suggested.policy}'`).join(' ')
  return {
    heading: `The least limits that touch at most ${percent(touch)} of the clients`,
    notes: [
      'As a bucket: the same rate, with the least burst that touches no more clients.',
      `See what they do: headgate-lab replay ${file} ${policies}`,
    ],
    tables: [{ columns, rows }],
    curves: windows.map((each, n) => curve(each, grid, n, touch)),
  }
}

/** The curve of one window: the share that each limit refuses, up to the first limit that refuses nothing. */
function curve({ window, suggested }, grid, n, touch) {
  const points = [suggested, ...grid.map(({ limit, windows }) => ({ limit, ...windows[n] }))]
  const inOrder = points.sort((a, b) => a.limit - b.limit)
  const end = inOrder.findIndex(({ refused }) => refused === 0)
  const shown = end < 0 ? inOrder : inOrder.slice(0, end + 1)
  return {
    title: `Limits for a window of ${window}`,
    limits: shown.map(({ limit }) => limit),
    series: [
      { name: 'clients touched', values: shown.map(({ clientsTouchedShare }) => clientsTouchedShare * 100) },
      { name: 'requests refused', values: shown.map(({ refusedShare }) => refusedShare * 100) },
    ],
    level: touch * 100,
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

function gridSection(grid, touch) {
  const columns = ['limit', ...grid[0].windows.map(({ window }) => `#${window}`)]
  const cell = ({ refused, refusedShare, clientsTouched }) =>
    refused === 0 ? '-' : `${percent(refusedShare)} / ${count(clientsTouched)}`
  const rows = grid.map(({ limit, windows }) => [count(limit), ...windows.map(cell)])
  const fits = ({ clientsTouchedShare }) => clientsTouchedShare <= touch
  const shades = grid.map(({ windows }) => [undefined, ...windows.map((each) => each.clientsTouchedShare)])
  const marked = grid.map(({ windows }, row) => [
    false,
    ...windows.map((each, n) => fits(each) && (row === 0 || !fits(grid[row - 1].windows[n]))),
  ])
  return {
    heading: 'Requests refused / clients touched, by limit and window',
    tables: [{ columns, rows, shades, marked }],
  }
}
