/*
 * Workloads: which client sends a request when. A request is { time, client }, its time in milliseconds from the start.
 * A workload has `requests`, which come in any case. It may have `answered`, which gets a decision and returns the next
 * request of that client:
 *
 *     { requests: [{ time, client }], answered?(request, decision) => request | undefined }
 *
 * The parameters of a workload: `rate` requests a second of all clients together, for `duration` milliseconds, by
 * `clients`; `random` from 0 to 1; and the `limit` and `window` (milliseconds) that it attacks.
 */
import { phases } from './driver-phases.mjs'

/** The workloads by name. With `ownRate`, a workload ignores `rate`. */
export const workloads = {
  steady: { about: 'the same gap between all requests', make: steady },
  poisson: { about: 'random gaps, as many independent users make', make: poisson },
  bursts: { about: 'every 10 s, the requests of 10 s at once', make: bursts },
  boundary: { about: 'the limit just before a window ends, and again just after', make: boundary, ownRate: true },
  'flash-crowd': { about: 'ten times the rate, of ten times the clients, in the middle third', make: flashCrowd },
  retry: { about: 'all clients at once; a refused one returns at exactly retryAfter', make: retry, ownRate: true },
  'retry-jitter': {
    about: 'the same, and each waits up to a window longer, at random',
    make: retryJitter,
    ownRate: true,
  },
  driver: {
    about: 'one client, from 10 calls at 1 a second to 1000 at 100; a refused call is tried again',
    make: driver,
    ownRate: true,
  },
}

function steady({ rate, duration, clients }) {
  const count = Math.round((rate * duration) / 1000)
  return { requests: Array.from({ length: count }, (_, n) => ({ time: (n * 1000) / rate, client: n % clients })) }
}

function poisson({ rate, duration, clients, random }) {
  const requests = []
  for (let time = gap(rate, random); time < duration; time += gap(rate, random)) {
    requests.push({ time: thousandths(time), client: Math.floor(random() * clients) })
  }
  return { requests }
}

function gap(rate, random) {
  return (-Math.log(1 - random()) * 1000) / rate
}

/** Rounds milliseconds to whole microseconds, as clocks have them. */
function thousandths(time) {
  return Math.round(time * 1000) / 1000
}

function bursts({ rate, duration, clients }) {
  const every = 10_000
  const requests = []
  for (let time = 0; time < duration; time += every) {
    for (let n = 0; n < (rate * every) / 1000; n++) requests.push({ time, client: n % clients })
  }
  return { requests }
}

function boundary({ duration, clients, limit, window }) {
  const requests = []
  for (let end = window; end < duration + window; end += 2 * window) {
    for (const time of [end - 1, end]) {
      for (let n = 0; n < limit * clients; n++) requests.push({ time, client: n % clients })
    }
  }
  return { requests }
}

function flashCrowd({ rate, duration, clients, random }) {
  const third = duration / 3
  const crowd = poisson({ rate: rate * 10, duration: third, clients: clients * 10, random }).requests
  const usual = poisson({ rate, duration, clients, random }).requests
  return { requests: [...usual, ...crowd.map(({ time, client }) => ({ time: thousandths(time + third), client }))] }
}

function retry(terms) {
  return retrying(terms, () => 0)
}

function retryJitter(terms) {
  return retrying(terms, () => Math.floor(terms.random() * terms.window))
}

function retrying({ clients, duration }, jitter) {
  return {
    requests: Array.from({ length: clients }, (_, client) => ({ time: 0, client })),
    answered({ time, client, first = time }, { allowed, retryAfter }) {
      const next = time + retryAfter + jitter()
      return allowed || next > duration ? undefined : { time: next, client, first }
    },
  }
}

/** A refused call is tried again every 10 ms. A phase ends one interval after its last admission. */
function driver({ duration }) {
  const call = (time, phase, n, start, first = time) => ({ time, client: 0, phase, n, start, first })
  return {
    requests: [call(0, 0, 0, 0)],
    answered({ time, phase, n, start, first }, { allowed }) {
      if (time > duration) return undefined
      if (!allowed) return call(time + 10, phase, n, start, first)
      const { calls, wanted } = phases[phase]
      const interval = 1000 / wanted
      if (n + 1 < calls) return call(Math.max(time, start + (n + 1) * interval), phase, n + 1, start)
      const next = time + interval
      return phase + 1 < phases.length ? call(next, phase + 1, 0, next) : undefined
    },
  }
}
