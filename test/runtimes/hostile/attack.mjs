/*
 * Attacks an application on the server of a runtime: clients that leave while handlers run, forged fields, and requests that
 * must not break each other. It plays a part of the clients that leave, another one each day; with HEADGATE_IN_DEPTH=true all.
 */
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { statusesOf, statusOf, ways } from './clients.mjs'

const inDepth = process.env.HEADGATE_IN_DEPTH === 'true'
const day = Number(process.env.HEADGATE_SEED ?? new Date().toISOString().slice(0, 10).replaceAll('-', ''))

function sampled(all, count) {
  const first = (day * count) % all.length
  return inDepth ? all : [...all.slice(first), ...all.slice(0, first)].slice(0, count)
}

const handlers = ['now', 'empty', 'later', 'never', 'throws', 'large', 'reads', 'slowly', 'silent']
const failing = ['now', 'empty', 'later', 'large', 'reads']

/** What the server of a runtime does not show, so that the units stay with the handler: see docs/frameworks/fetch.md. */
function unseen(runtime, handler, way) {
  if (runtime === 'deno') return handler === 'never' && /body|expects/.test(way)
  if (runtime !== 'workerd') return false
  // workerd reads the whole body of a response to HEAD, also after the client has left.
  if (handler === 'slowly') return way === 'after a HEAD'
  return ['never', 'silent'].includes(handler) && !way.startsWith('by a reset')
}

const product = (some, others) => some.flatMap((one) => others.map((other) => [one, other]))
const numbers = (count) => Array.from({ length: count }, (_, n) => n)
const headers = { 'cf-connecting-ip': '192.0.2.1' }

/** The server under attack, and what got through. */
class Target {
  checked = 0
  differences = []

  constructor(port) {
    this.port = port
  }

  check(what, passed, got) {
    this.checked++
    if (!passed) this.differences.push(`${what}: ${JSON.stringify(got)}`)
  }

  /** Notes the statuses unless they are these. */
  expect(what, statuses, wanted) {
    this.check(what, JSON.stringify(statuses) === JSON.stringify(wanted), statuses)
  }

  fetch(path, signal) {
    return fetch(`http://127.0.0.1:${this.port}${path}`, { headers, signal })
  }

  async get(path) {
    return (await this.fetch(path)).status
  }

  /** What is left of a limit, and how often its handler ran. */
  async state(kind, name) {
    const response = await this.fetch(`/${kind}/${name}?state`)
    return response.json().catch(() => ({ status: response.status }))
  }

  leave(way, path) {
    return ways[way](this.port, path)
  }
}

async function holdUnits(target, handler, way, n) {
  await Promise.all(numbers(5).map(() => target.leave(way, `/in-flight/${n}/${handler}`)))
  let got = await target.state('in-flight', n)
  for (let tries = 0; tries < 80 && got.remaining < 4; tries++) {
    await sleep(50)
    got = await target.state('in-flight', n)
  }
  target.check(`five clients leave ${way}, the handler is "${handler}", and units stay used`, got.remaining === 4, got)
}

async function failForFree(target, handler, way, n) {
  for (const _ of numbers(10)) await target.leave(way, `/failures/${n}/${handler}/401`)
  await sleep(100)
  const got = await target.state('failures', n)
  target.check(`a client leaves ${way} ten times, and more than 5 failures of "${handler}" run`, got.runs <= 5, got)
}

/** No server has to report how these failures end: a ban begins with their status. */
async function guess(target) {
  for (const way of ['at the first bytes', 'by a reset at the first bytes', 'by a reset without reading']) {
    const path = `/guesses/${encodeURIComponent(way)}/large/401`
    for (const _ of numbers(5)) await target.leave(way, path)
    const got = await target.state('guesses', encodeURIComponent(way))
    target.check(`a client leaves ${way} after five failures, and is not banned`, got.policy === 'penalty', got)
  }
}

async function leaveInEveryWay(target, runtime) {
  const seen = product(handlers, Object.keys(ways)).filter(([handler, way]) => !unseen(runtime, handler, way))
  const jobs = [
    ...sampled(seen, 24).map(
      ([handler, way], n) =>
        () =>
          holdUnits(target, handler, way, n),
    ),
    ...sampled(product(failing, Object.keys(ways)), 12).map(([handler, way], n) => () => {
      return failForFree(target, handler, way, n)
    }),
  ].values()
  const work = async () => {
    for (const job of jobs) await job()
  }
  await Promise.all(numbers(12).map(work))
}

async function forgeFields(target) {
  const { port } = target
  for (const field of ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'True-Client-IP', 'X-Vercel-Forwarded-For']) {
    const statuses = []
    for (const n of numbers(4))
      statuses.push(await statusOf(port, `/address/${field}`, `${field}: 198.51.100.${n}\r\n`))
    target.expect(`${field} makes new quotas`, statuses, [200, 200, 200, 429])
  }
  for (const [n, key] of ['a', '\xff', '__proto__', 'x'.repeat(5000), ''].entries()) {
    const statuses = []
    for (const spaces of numbers(4)) {
      statuses.push(await statusOf(port, `/header/${n}`, `X-Api-Key: ${key}${' '.repeat(spaces)}\r\n`))
    }
    target.expect(`spaces after the key ${key.slice(0, 9)} make new quotas`, statuses, [200, 200, 200, 429])
  }
  const one = 'GET /address/many HTTP/1.1\r\nHost: a\r\nCF-Connecting-IP: 192.0.2.1\r\n\r\n'
  const admitted = (await statusesOf(port, one.repeat(30))).filter((status) => status === 200).length
  target.check('pipelined requests get around the limit', admitted === 3, admitted)
}

/** A request that has ended must not take the renewals of another one with it. */
async function endBesideStream(target) {
  const left = new AbortController()
  const short = target.get('/in-flight/stream/later')
  const stream = await target.fetch('/in-flight/stream/slowly', left.signal)
  const reading = stream.arrayBuffer().catch(() => {})
  await short
  await sleep(3000)
  const got = await target.state('in-flight', 'stream')
  target.check('a stream loses its unit when another request has ended', got.remaining === 3, got)
  left.abort()
  await reading
}

async function leaveAsynchronousStore(target) {
  const six = () => Promise.all(numbers(6).map((n) => target.get(`/stored/six/now?key=${n}`)))
  const all = await six()
  await Promise.all(numbers(4).map((n) => target.leave('by a reset at once', `/stored/six/now?key=${n}`)))
  all.push(...(await six()))
  target.expect('requests on an asynchronous store break each other', all, Array(12).fill(200))
}

/** The store is slow, so it gets to know the end of a request when the response has long been sent. */
async function endInAsynchronousStore(target) {
  for (const handler of ['now', 'empty', 'large', 'later']) {
    const statuses = []
    for (const _ of numbers(7)) {
      const response = await target.fetch(`/ends/${handler}/${handler}`)
      await response.arrayBuffer()
      statuses.push(response.status)
      await sleep(150)
    }
    target.expect(`the handler is "${handler}", and the store misses ends of requests`, statuses, Array(7).fill(200))
  }
}

async function leaveDelayed(target) {
  for (const _ of numbers(5)) await target.get('/delay/line')
  const gone = numbers(5).map(() => target.leave('by a reset while the handler runs', '/delay/line'))
  await sleep(100)
  const staying = await Promise.all(numbers(5).map(() => target.get('/delay/line')))
  await Promise.all(gone)
  target.expect('clients that leave break the delayed requests behind them', staying, Array(5).fill(200))
}

/** There is one place for the key, and a client that left must not keep it. */
async function leavePlace(target) {
  await target.get('/place/line')
  await target.leave('by a reset while the handler runs', '/place/line')
  await sleep(2500)
  const two = await Promise.all(numbers(2).map(() => target.get('/place/line')))
  target.expect('a client that left keeps its place in the queue', two, [200, 200])
}

/** The probe of a store that is back must not end with the request that began it. */
async function returnOfStore(target) {
  await target.get('/open/line')
  await target.get('/broken/true')
  for (const _ of numbers(7)) await target.get('/open/line')
  await target.get('/broken/false')
  for (const _ of numbers(4)) {
    await sleep(400)
    await target.get('/open/line')
  }
  const got = await target.state('open', 'line')
  target.check('a store that is back stays unasked', got.remaining < 99, got)
}

/** What a key owes to a store that is back is charged by a request that may have ended since. No other request may wait for that. */
async function oweToStore(target) {
  const get = (key) => target.get(`/local/line/now?key=${key}`)
  await get('k')
  await target.get('/broken/true')
  await get('k')
  await target.get('/broken/false')
  for (const key of ['a', 'b', 'k', 'k', 'k']) {
    await sleep(300)
    await get(key)
  }
  await sleep(300)
  const { remaining, source, owing } = await target.state('local', 'line')
  const passed = remaining === 95 && source === 'store' && owing === 0
  target.check('a key that owes units is not decided by the store any more', passed, { remaining, source, owing })
}

/** The ends of two requests fail. The store is told both ends when it is back, whichever requests have ended since. */
async function missEnds(target) {
  const two = numbers(2).map(() => target.get('/ends/two/later'))
  await sleep(200)
  await target.get('/broken/true')
  await Promise.all(two)
  await sleep(300)
  await target.get('/broken/false')
  for (const n of numbers(4)) {
    await target.get(`/local/line/now?key=${n}`)
    await sleep(200)
  }
  const { remaining } = await target.state('ends', 'two')
  target.check('units of requests that have ended stay used', remaining === 2, remaining)
}

/** Timers end with their request in a worker, so that there calls have to read the overrides of other isolates. */
async function overrideElsewhere(target) {
  await target.get('/overridden/line')
  await target.get('/override/2')
  const statuses = []
  for (const _ of numbers(4)) {
    await sleep(600)
    statuses.push(await target.get('/overridden/line'))
  }
  target.check('an override of another isolate does not hold', statuses.at(-1) === 429, statuses)
}

/** A handler returns the result of `fetch`, whose body the runtime has decoded. Only Deno then sends no fields of the encoded body. */
async function proxyEncoded(target, runtime) {
  if (runtime !== 'deno') return
  const upstream = createServer((_request, response) => {
    response.setHeader('content-encoding', 'gzip').end(gzipSync('from upstream'))
  })
  await new Promise((listening) => upstream.listen(0, '127.0.0.1', listening))
  const from = encodeURIComponent(`http://127.0.0.1:${upstream.address().port}/`)
  for (const path of ['/failures/gzip/proxied', '/address/gzip/proxied']) {
    const text = await target.fetch(`${path}?from=${from}`, AbortSignal.timeout(5000)).then(
      (response) => response.text(),
      (error) => error.message,
    )
    target.check(`${path} sends a broken body`, text === 'from upstream', text)
  }
  upstream.closeAllConnections()
  upstream.close()
}

/** @returns how many attacks were tried, and a sentence for each that got through */
export async function attack(runtime, port) {
  const target = new Target(port)
  await leaveInEveryWay(target, runtime)
  for (const attempt of [
    forgeFields,
    guess,
    endBesideStream,
    leaveAsynchronousStore,
    endInAsynchronousStore,
    leaveDelayed,
    leavePlace,
    returnOfStore,
    oweToStore,
    missEnds,
    overrideElsewhere,
    proxyEncoded,
  ]) {
    await attempt(target, runtime)
  }
  return target
}
