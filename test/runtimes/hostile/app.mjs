/*
 * An application for clients that attack it, on the server of Bun, Deno or workerd. Each attack names a limiter of its own in the
 * path: `/in-flight/NAME/HANDLER`. This module runs in every runtime, so it imports nothing else.
 */
import { byHeader, RateLimiter } from 'headgate'
import { quota } from 'headgate/calendar'
import { rateLimit } from 'headgate/fetch'
import { compareAndSetStore } from 'headgate/store'

const sleep = (milliseconds) => new Promise((wake) => setTimeout(wake, milliseconds))
const bytes = (length) => new Uint8Array(length)
const stream = (pull, status) => new Response(new ReadableStream({ pull }), { status })

/** The address as each runtime tells it. */
function address(request, context) {
  if (globalThis.Bun) return context.requestIP(request)?.address
  if (globalThis.Deno) return context.remoteAddr.hostname
  return request.headers.get('cf-connecting-ip')
}

/** What handlers do with a request, by name. */
const handlers = {
  now: (status) => new Response('now', { status }),
  empty: (status) => new Response(null, { status }),
  later: (status) => sleep(300).then(() => new Response('later', { status })),
  never: () => new Promise(() => {}),
  throws: () => Promise.reject(new Error('thrown on purpose')),
  large: (status) => new Response('x'.repeat(8_000_000), { status }),
  reads: async (status, request) => new Response(`${(await request.text()).length}`, { status }),
  slowly: (status) => stream((body) => sleep(50).then(() => body.enqueue(bytes(10))), status),
  silent: (status) => stream(() => new Promise(() => {}), status),
  proxied: (_status, request) => fetch(new URL(request.url).searchParams.get('from')),
}

/** A store whose every step takes 20 ms, as a database elsewhere would. */
function database() {
  const rows = new Map()
  const state = { broken: false }
  const store = compareAndSetStore({
    async read(key) {
      await sleep(20)
      if (state.broken) throw new Error('broken on purpose')
      return rows.get(key)
    },
    async swap(key, text, version) {
      await sleep(20)
      if (rows.get(key)?.version !== version) return false
      rows.set(key, { text, version: (version ?? 0) + 1 })
      return true
    },
    timeout: '2s',
  })
  return Object.assign(state, { store })
}

const base = database()

/** Documents in a database whose every step takes 20 ms. */
function documents() {
  const texts = new Map()
  const read = (name) => ({ version: `${texts.get(name)?.length ?? ''}`, text: texts.get(name) ?? '' })
  return {
    versions: (names) => sleep(20).then(() => names.map((name) => read(name).version)),
    read: (name) => sleep(20).then(() => read(name)),
    async swap(name, version, text) {
      await sleep(20)
      if (read(name).version !== version) return false
      texts.set(name, text)
      return true
    },
  }
}

/** Two stores with the same documents, as two isolates have them. */
const shared = documents()
const [one, other] = [database(), database()].map(({ store }) => Object.assign(store, { documents: shared }))
const keys = () => 'k'
const byPath = ({ request }) => new URL(request.url).searchParams.get('key')

/** The limits, by the first part of the path. */
const kinds = {
  'in-flight': (name) => rateLimit({ name, policies: '4 at once lease 1s', keys }),
  failures: (name) => rateLimit({ name, policies: '5/1h', keys, count: 'failures' }),
  guesses: (name) => {
    return rateLimit({ name, policies: '5/1h', keys, count: 'failures', penalty: { on: 'spent', ban: '1d' } })
  },
  address: (name) => rateLimit({ name, policies: '3/1h' }, { address }),
  header: (name) => rateLimit({ name, policies: '3/1h', keys: byHeader('x-api-key') }, { address }),
  ends: (name) => rateLimit({ name, policies: ['5/1h', '2 at once'], store: base.store, keys, count: 'failures' }),
  delay: (name) => rateLimit({ name, policies: '5/1s token-bucket', delay: { max: '5s' }, keys }),
  place: (name) => rateLimit({ name, policies: '1/1s token-bucket', delay: { max: '2s', queue: 4 }, keys }),
  stored: (name) => rateLimit({ name, policies: '100/1h', store: base.store, onStoreError: 'closed', keys: byPath }),
  local: (name) => rateLimit({ name, policies: '100/1h', store: base.store, keys: byPath }),
  overridden: () => rateLimit({ name: 'overridden', policies: '9/1h', store: one, keys }),
  operator: () => rateLimit({ name: 'overridden', policies: '9/1h', store: other, keys }),
  open: (name) => rateLimit({ name, policies: '100/1h', store: base.store, onStoreError: 'open', keys }),
}

// Made outside of a request, where a worker may not do everything.
export const made = new RateLimiter({ policies: '1/1h' })
  .withPlan('2/1h')
  .withPlan(['5/month', '5/day Europe/Berlin'].map((text, n) => quota(text, { name: `${n}` })))

const limits = new Map()
const runs = new Map()

function limitOf(kind, name) {
  const id = `${kind}-${name}`
  if (!limits.has(id)) limits.set(id, kinds[kind](id))
  return limits.get(id)
}

async function answer(request, context) {
  const { pathname, searchParams } = new URL(request.url)
  const [, kind, name, handler = 'now', status = '200'] = pathname.split('/')
  if (kind === 'broken') {
    base.broken = name === 'true'
    return new Response()
  }
  if (kind === 'override') {
    return Response.json(await limitOf('operator', 'line').limiter.override('k', { limit: Number(name) }))
  }
  const id = `${kind} ${name}`
  if (searchParams.has('state')) {
    const { limiter } = limitOf(kind, name)
    const { remaining, source, policy } = await limiter.peek('k')
    return Response.json({ remaining, source, policy, runs: runs.get(id) ?? 0, owing: limiter.health().owing })
  }
  const limited = limitOf(kind, name).wrap((incoming) => {
    runs.set(id, (runs.get(id) ?? 0) + 1)
    return handlers[handler](Number(status), incoming)
  })
  return limited(request, context)
}

/** An error of a handler is answered here, as runtimes would answer it, and not printed. */
export function handler(request, context) {
  return answer(request, context).catch((error) => new Response(`${error?.stack}`, { status: 500 }))
}

/** Serves the application on the runtime's own server, and prints its port. A worker is served by workerd. */
export function serve() {
  const options = { port: 0, hostname: '127.0.0.1' }
  if (globalThis.Bun) console.log(`port ${Bun.serve({ ...options, idleTimeout: 60, fetch: handler }).port}`)
  else Deno.serve({ ...options, onListen: ({ port }) => console.log(`port ${port}`) }, handler)
}
