import { count, duration, percent, time } from './format.mjs'

function nameOf({ key, hash }) {
  if (key === '') return '(empty)'
  return key === undefined ? `${hash} (hashed)` : key
}

const columns = ['~limiter', '~scope', 'key', 'state', '~policy', '#used', '#share', '~used ago']

export function keyTable(rows) {
  return { columns, rows: rows.map(cells) }
}

function cells(row) {
  const { limiter, scope, inspection, refused, retryAfter, bannedFor, policy, share, lastUsedAt } = row
  const byHand = inspection?.ban === undefined ? '' : 'by hand'
  return [
    limiter ?? '(hashed)',
    scope ?? '(hashed)',
    nameOf(row),
    inspection === undefined ? 'unreadable' : stateOf({ refused, retryAfter, bannedFor }),
    policy === undefined ? byHand : policy.name,
    policy === undefined ? '' : usedOf(policy),
    share === undefined ? '' : percent(share),
    lastUsedAt === undefined ? '' : duration(Math.max(0, inspection.at - lastUsedAt)),
  ]
}

/** The state of a key in words. A ban may end before a policy admits the key again. */
function stateOf({ refused, retryAfter, bannedFor }) {
  if (!refused) return 'admitted'
  const banned = bannedFor > 0 ? [`banned${lasting(bannedFor)}`] : []
  return [...banned, ...(retryAfter > bannedFor ? [`refused${lasting(retryAfter)}`] : [])].join(', ')
}

function lasting(time) {
  return time === Infinity ? '' : ` ${duration(time)}`
}

function usedOf({ used, kind, limit, burst }) {
  if (kind.startsWith('smooth') || kind === 'penalty') return ''
  const most = kind === 'bucket' ? burst : limit
  return most >= 2 ** 52 ? count(used) : `${count(used)} of ${count(most)}`
}

/** @param {{ title: string, server: string, facts: string[], rows: object[], none: string }} listing */
export function keysReport({ title, server, facts, rows, none }) {
  return {
    title,
    facts: [server, ...facts],
    sections: [
      { heading: 'Keys', notes: rows.length === 0 ? [none] : [], tables: rows.length === 0 ? [] : [keyTable(rows)] },
    ],
  }
}

/** Each policy of a key, in a sentence. */
export function inspectionReport(facts, found) {
  return {
    title: `${found.length} ${found.length === 1 ? 'key' : 'keys'} of that name`,
    facts,
    sections: found.map((stored) => {
      const { limiter, scope, storeKey, inspection } = stored
      const heading = `${limiter ?? '(hashed)'}, ${scope ?? '(hashed)'}: ${nameOf(stored)}`
      if (inspection === undefined)
        return { heading, notes: [`The value under ${storeKey} is not a record of this version.`] }
      const { words, lastUsedAt, policies } = inspection
      const last = lastUsedAt === undefined ? [] : [`Last used: ${time(lastUsedAt)} UTC`]
      const rows = policies.map((policy) => [policy.name, policy.kind, policy.words])
      return {
        heading,
        notes: [words, ...last, ''],
        tables: rows.length === 0 ? [] : [{ columns: ['policy', 'algorithm', 'state'], rows, whole: true }],
      }
    }),
  }
}

const marks = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' }

export function checkReport(server, checks) {
  const lines = checks.flatMap(({ status, what, found, fix }) => [
    `${marks[status]}  ${what.padEnd(9)} ${found}`,
    ...(fix === undefined ? [] : [`${' '.repeat(19)}-> ${fix}`]),
  ])
  return { title: 'Check', facts: [server], sections: [{ heading: 'Findings', notes: lines }] }
}
