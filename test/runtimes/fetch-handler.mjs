/*
 * The middleware of fetch handlers, on the server of the runtime and on its own Request and Response. This module runs in every
 * runtime, so it imports nothing else.
 */
import { RateLimiter } from 'headgate'
import { rateLimit } from 'headgate/fetch'

const limit = rateLimit('2/1h', { address: addressOf })
const streamed = new RateLimiter({ policies: '9/1h' })
const stream = rateLimit({ limiter: streamed, keys: () => 'all', count: () => false })

/** The address as each runtime tells it. */
function addressOf(request, context) {
  if (globalThis.Bun) return context.requestIP(request)?.address
  if (globalThis.Deno) return context.remoteAddr.hostname
  return request.headers.get('cf-connecting-ip')
}

const hello = limit.wrap((request) => Response.json({ left: request.rateLimit.remaining }))
const endless = stream.wrap(() => {
  const pull = (controller) => controller.enqueue(new Uint8Array(1024))
  return new Response(new ReadableStream({ pull }))
})
const finite = stream.wrap(() => new Response('sent to its end'))

/** The handler that the server of the runtime calls. */
export function handler(request, context) {
  const { pathname } = new URL(request.url)
  return pathname === '/endless'
    ? endless(request, context)
    : pathname === '/finite'
      ? finite(request, context)
      : hello(request, context)
}

/** Serves the handler on the runtime's own server. Undefined where there is none. */
function serve() {
  if (globalThis.Bun) {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handler })
    return { url: `http://127.0.0.1:${server.port}`, close: () => server.stop(true) }
  }
  if (globalThis.Deno) {
    const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, handler)
    return { url: `http://127.0.0.1:${server.addr.port}`, close: () => server.shutdown() }
  }
  return undefined
}

/**
 * @param check compares a result
 * @param dispatch sends a request to this worker through the runtime, where it has no server
 */
export async function tryFetchHandler(check, dispatch) {
  await tryResponses(check)
  const server = dispatch === undefined ? serve() : { url: 'http://worker', close() {} }
  if (server === undefined) return
  const ask = (path) => (dispatch ?? fetch)(server.url + path, { headers: { 'cf-connecting-ip': '192.0.2.1' } })
  const seen = []
  for (let n = 0; n < 3; n++) {
    const response = await ask('/')
    const { status, headers } = response
    await response.text()
    seen.push([status, headers.get('x-ratelimit-remaining'), headers.has('retry-after')])
  }
  check('a client of the server is limited by its address', seen, [
    [200, '1', false],
    [200, '0', false],
    [429, '0', true],
  ])

  const finished = await ask('/finite')
  check('a body that is sent to its end', await finished.text(), 'sent to its end')
  const type = finished.headers.get('content-type')?.toLowerCase()
  check('which is a text, so that no browser guesses its type', type, 'text/plain;charset=utf-8')
  check('and then does not count', await eventually(() => streamed.consumeSync('all', { cost: 9 }).allowed), true)
  await streamed.reset('all')
  const { body } = await ask('/endless')
  const reader = body.getReader()
  await reader.read()
  await reader.cancel()
  await new Promise((resolve) => setTimeout(resolve, 100))
  check('a stream whose client has left counts', (await streamed.peek('all')).remaining, 8)
  await server.close()
}

/** Copies, refusals and nested limits, on the Request and Response of the runtime. */
async function tryResponses(check) {
  const one = rateLimit('1/1h', { address: () => '192.0.2.1' })
  const redirect = await one.wrap(() => Response.redirect('http://a/elsewhere', 303))(new Request('http://a/'))
  const fields = ['location', 'x-ratelimit-limit'].map((name) => redirect.headers.get(name))
  check('an immutable redirect gets the fields', [redirect.status, ...fields], [303, 'http://a/elsewhere', '1'])
  const refused = await one(new Request('http://a/', { headers: { accept: 'application/json' } }))
  check(
    'a refusal is a Response',
    [refused.response.status, (await refused.response.json()).error],
    [429, 'too_many_requests'],
  )

  const limiter = new RateLimiter({ policies: '9/1h' })
  const counted = rateLimit({ limiter, keys: () => 'k', count: () => false })
  const response = await counted.wrap(() => new Response('body'))(new Request('http://a/'))
  check('a body is awaited', (await limiter.peek('k')).remaining, 8)
  await response.text()
  check('and noted at its end', await eventually(() => limiter.consumeSync('k', { cost: 9 }).allowed), true)
}

/** True once the condition holds, within a second. */
async function eventually(condition) {
  for (let n = 0; n < 100; n++) {
    if (condition()) return true
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return false
}
