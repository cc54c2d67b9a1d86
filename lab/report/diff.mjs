import { count, percent } from './format.mjs'
import { logFacts, logName, trafficOf } from './replay.mjs'

export function diffReport(result) {
  const { oldFile, newFile, limiter, plan, log, clientsNewlyRefused, clientsNoLongerRefused } = result
  const of = plan === undefined ? `The limiter ${limiter}` : `The plan ${plan} of the limiter ${limiter}`
  return {
    title: `From ${oldFile} to ${newFile}, by ${logName(log)}`,
    facts: [...logFacts(log), trafficOf(result), of],
    sections: [
      section('Clients that are newly refused', clientsNewlyRefused, 'newlyRefused'),
      section('Clients that are no longer refused', clientsNoLongerRefused, 'noLongerRefused'),
      summary(result),
    ],
  }
}

function section(heading, clients, field) {
  if (clients.length === 0) return { heading, notes: ['There are none.'] }
  const columns = [
    'client',
    '#of requests',
    '#refused before',
    '#refused after',
    field === 'newlyRefused' ? '#newly' : '#no longer',
  ]
  const rows = clients.map((each) => [
    each.client,
    ...[each.requests, each.refusedBefore, each.refusedAfter, each[field]].map(count),
  ])
  return { heading, tables: [{ columns, rows }] }
}

function summary({ old, new: now, newlyRefused, noLongerRefused, newlyAffected, noLongerAffected }) {
  const row = (name, { requests, share, clients }) => [name, count(requests), percent(share), count(clients)]
  const rows = [
    row('refused before', old),
    row('refused after', now),
    row('newly refused', newlyRefused),
    row('no longer refused', noLongerRefused),
  ]
  const notes = [
    `${count(newlyAffected)} ${newlyAffected === 1 ? 'client' : 'clients'} had no refused request before and have one now; ${count(noLongerAffected)} had one before and have none now.`,
  ]
  return { heading: 'What changes', notes, tables: [{ columns: ['', '#requests', '#share', '#clients'], rows }] }
}
