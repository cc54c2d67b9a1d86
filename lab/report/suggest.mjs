import { quantileNames } from '../engine/quantiles.mjs'
import { count, percent } from './format.mjs'
import { logFacts, logName, span } from './replay.mjs'

/** The report of a suggestion: see text.mjs for its form. */
export function suggestReport(result) {
  const { requests, clients, log, windows, grid, touch, cautions } = result
  return {
    title: `Limits for ${logName(log)}`,
    facts: [...logFacts(log), `${count(requests)} requests of ${count(clients)} clients, ${span(result)}`],
    sections: [
      suggested(windows, touch, log.file),
      busiest(windows),
      gridSection(grid),
      ...(cautions.length > 0 ? [{ heading: 'Cautions', notes: cautions.map((text) => `- ${text}`) }] : []),
    ],
  }
}

function suggested(windows, touch, file) {
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
  }
}

function busiest(windows) {
  const columns = ['window', ...quantileNames.map((name) => `#${name}`)]
  const rows = windows.map(({ window, quantiles }) => [window, ...quantileNames.map((name) => count(quantiles[name]))])
  return {
    heading: 'The most requests that a client makes in any window',
    notes: ['p99 of 30 means: 99 % of the clients never make more than 30.'],
    tables: [{ columns, rows }],
  }
}

function gridSection(grid) {
  const columns = ['limit', ...grid[0].windows.map(({ window }) => `#${window}`)]
  const cell = ({ refused, refusedShare, clientsTouched }) =>
    refused === 0 ? '-' : `${percent(refusedShare)} / ${count(clientsTouched)}`
  const rows = grid.map(({ limit, windows }) => [count(limit), ...windows.map(cell)])
  return { heading: 'Requests refused / clients touched, by limit and window', tables: [{ columns, rows }] }
}
