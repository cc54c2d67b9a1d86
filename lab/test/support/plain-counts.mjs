/*
 * What limits do to the made log, counted without headgate and without the lab: a few lines for each algorithm, from their
 * definitions.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

/** Client and second of each line, in the order of time. */
export function requestsOf(file) {
  const text = gunzipSync(readFileSync(file)).toString()
  const requests = text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, day, month, year, clock] = /\[(\d+)\/(\w+)\/(\d+):([\d:]+) /.exec(line)
      const address = line.split(' ')[0]
      // The made log and the shared one write no IPv6 address whose first four groups are shortened.
      const client = address.includes(':') ? prefix(address) : address
      return { client, second: Date.parse(`${day} ${month} ${year} ${clock} UTC`) / 1000 }
    })
  return requests.sort((a, b) => a.second - b.second)
}

/** The first 56 bits. */
function prefix(address) {
  const groups = address.split('::')[0].split(':')
  return [...groups.slice(0, 3), (groups[3] ?? '0').padStart(4, '0').slice(0, 2)].join(':')
}

/** Counts the refused requests and the clients that they belong to. */
function count(requests, admits) {
  const states = new Map()
  const affected = new Set()
  let refused = 0
  for (const { client, second } of requests) {
    if (!states.has(client)) states.set(client, {})
    if (admits(states.get(client), second)) continue
    refused++
    affected.add(client)
  }
  return { refused, affected: affected.size }
}

export function fixedWindow(requests, limit, window) {
  return count(requests, (state, second) => {
    const start = second - (second % window)
    if (state.start !== start) Object.assign(state, { start, used: 0 })
    return state.used < limit && ++state.used > 0
  })
}

export function slidingLog(requests, limit, window) {
  return count(requests, (state, second) => {
    state.times = (state.times ?? []).filter((time) => time > second - window)
    return state.times.length < limit && state.times.push(second) > 0
  })
}

/** In whole numbers: the estimate times the window. */
export function slidingWindow(requests, limit, window) {
  return count(requests, (state, second) => {
    const start = second - (second % window)
    if (state.start !== start) {
      Object.assign(state, { previous: state.start === start - window ? state.current : 0, start, current: 0 })
    }
    if (state.previous * (window - (second - start)) + (state.current + 1) * window > limit * window) return false
    state.current++
    return true
  })
}

/** Tokens times the window. */
export function tokenBucket(requests, limit, window, burst) {
  return count(requests, (state, second) => {
    const full = burst * window
    state.tokens = Math.min(full, (state.tokens ?? full) + (second - (state.last ?? second)) * limit)
    state.last = second
    if (state.tokens < window) return false
    state.tokens -= window
    return true
  })
}
