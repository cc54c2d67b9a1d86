import { rateLimit } from 'headgate/fetch'

/**
 * A handler of Request and Response, for any runtime.
 * @param address finds the client's address: each runtime has a way of its own
 */
export function createHandler(address) {
  const limit = rateLimit('100/15m', { address })
  const login = rateLimit({ name: 'login', policies: '5/1m sliding-log', count: 'failures' }, { address })

  // The limiter around a handler.
  const checkPassword = login.wrap(async (request, _context) => {
    const { password } = JSON.parse(await request.text())
    return new Response(null, { status: password === 'secret' ? 204 : 401 })
  })

  // The same by hand: send the refusal, or put the fields on your own response.
  return async (request, context) => {
    const result = await limit(request, context)
    if (result.response) return result.response
    const { pathname } = new URL(request.url)
    if (pathname === '/login' && request.method === 'POST') return result.apply(await checkPassword(request, context))
    return result.apply(Response.json({ hello: 'world', left: result.decision.remaining }))
  }
}
