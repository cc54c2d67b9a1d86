import { type Handle, json, type RequestEvent, redirect } from '@sveltejs/kit'
import { byIp } from 'headgate'
import { rateLimit } from 'headgate/fetch'
import { notFound, permanentRedirect, redirect as redirectInNext } from 'next/navigation.js'
import { NextRequest, NextResponse } from 'next/server'
import { afterAll, expect, test } from 'vitest'
import { headgateWarnings } from '../../support/headgate-warnings.ts'
import { onRequest } from '../.examples/astro.ts'
import { own } from '../.examples/lambda.ts'
import { proxy } from '../.examples/next-proxy.ts'
import { GET } from '../.examples/next-route.ts'
import { action } from '../.examples/react-router.ts'
import { handle } from '../.examples/sveltekit.ts'
import { limit as failures } from '../.examples/sveltekit-failures.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

/* The programs of docs/frameworks/ for frameworks that build sites, on the requests and responses of their own packages. */

/** A request as Vercel passes it on. */
function vercel(address: string): NextRequest {
  return new NextRequest('https://example.com/api/books/7', { headers: { 'x-vercel-forwarded-for': address } })
}

test('Next.js: a route handler gets its parameters and the decision, and each address has a quota', async () => {
  const call = (address: string) => GET(vercel(address), { params: Promise.resolve({ id: '7' }) })
  const first = await call('203.0.113.1')
  expect(await first.json()).toEqual({ id: '7', left: 1 })
  expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
  expect((await call('203.0.113.1')).status).toBe(200)
  const refused = await call('203.0.113.1')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
  expect((await call('203.0.113.2')).status).toBe(200)
})

test('what redirect of Next.js and SvelteKit throws counts as a success, and what notFound throws as a failure', async () => {
  const keys = byIp({ platform: 'vercel' })
  const left = async (count: 'successes' | 'failures', handler: () => never) => {
    const limit = rateLimit({ policies: '3/1h', count, keys })
    for (let n = 0; n < 2; n++) await expect(limit.wrap(handler)(vercel('203.0.113.6'))).rejects.toBeDefined()
    return (await limit.limiter.peek('203.0.113.6')).remaining
  }
  for (const redirects of [() => redirectInNext('/a;500;'), () => permanentRedirect('/'), () => redirect(303, '/')]) {
    expect([await left('successes', redirects), await left('failures', redirects)]).toEqual([1, 3])
  }
  expect([await left('successes', notFound), await left('failures', notFound)]).toEqual([3, 1])
})

test('Next.js: a proxy lets a request on with the fields, and refuses it before the route', async () => {
  const goesOn = await proxy(vercel('203.0.113.1'))
  expect(Object.fromEntries(goesOn.headers)).toMatchObject({ 'x-middleware-next': '1', 'x-ratelimit-remaining': '1' })
  await proxy(vercel('203.0.113.1'))
  const refused = await proxy(vercel('203.0.113.1'))
  expect([refused.status, refused.headers.get('x-middleware-next')]).toEqual([429, null])
})

test('Next.js: a proxy with count or units in flight is told to wrap the route, and the wrapped route limits', async () => {
  const keys = byIp({ platform: 'vercel' })
  const failures = rateLimit({ policies: '5/1h', count: 'failures', keys })
  const atOnce = rateLimit('4 at once', { keys })
  const passes = [() => NextResponse.next(), () => NextResponse.rewrite('https://example.com/other')]
  for (const limit of [failures, atOnce]) {
    for (const pass of passes) {
      const result = await limit(vercel('203.0.113.4'))
      expect(() => result.apply(pass())).toThrow(expect.objectContaining({ code: 'HEADGATE_NO_END' }))
    }
    const redirected = (await limit(vercel('203.0.113.4'))).apply(NextResponse.redirect('https://example.com/login'))
    expect(redirected.status).toBe(307)
  }
  const POST = failures.wrap(async (_request: NextRequest) => NextResponse.json({}, { status: 401 }))
  const seen: number[] = []
  for (let n = 0; n < 6; n++) {
    const response = await POST(vercel('203.0.113.5'))
    await response.text()
    seen.push(response.status)
  }
  expect(seen).toEqual([401, 401, 401, 401, 401, 429])
})

/** What SvelteKit hands to the hook: its event, and a function that renders. */
function hooked(address: string, resolve: Parameters<Handle>[0]['resolve'], isSubRequest = false) {
  const request = new Request('https://example.com/books/7')
  const event: Partial<RequestEvent> = {
    request,
    url: new URL(request.url),
    route: { id: '/books/[id]' },
    params: { id: '7' },
    locals: {},
    getClientAddress: () => address,
    isSubRequest,
  }
  return handle({ event: event as RequestEvent, resolve })
}

test('SvelteKit: the hook puts the fields on a page, and renders nothing for a refused request', async () => {
  let rendered = 0
  const page: Parameters<typeof hooked>[1] = ({ request }) => {
    rendered++
    return json({ left: request.rateLimit?.remaining })
  }
  const first = await hooked('203.0.113.1', page)
  expect([await first.json(), first.headers.get('x-ratelimit-limit')]).toEqual([{ left: 1 }, '2'])
  await hooked('203.0.113.1', page)
  expect((await hooked('203.0.113.1', page)).status).toBe(429)
  expect(rendered).toBe(2)
  expect((await hooked('203.0.113.2', page)).status).toBe(200)
})

test('SvelteKit: what a page fetches from its own application takes no units', async () => {
  for (let n = 0; n < 4; n++) expect((await hooked('203.0.113.9', () => json({}), true)).status).toBe(200)
  const { headers } = await hooked('203.0.113.9', () => json({}))
  expect(headers.get('x-ratelimit-remaining')).toBe('1')
})

test('SvelteKit: a failure that SvelteKit sends with status 200 counts if the code says so', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 7; n++) {
    const request = new Request('https://example.com/invite/7/__data.json')
    const event = { request, locals: { failed: n > 0 }, getClientAddress: () => '203.0.113.1', isSubRequest: false }
    const answer = failures.wrap((_request: Request, _event: RequestEvent) => json({ type: 'error' }))
    const response = await answer(request, event as unknown as RequestEvent)
    await response.text()
    statuses.push(response.status)
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429])
})

test('SvelteKit: what a page throws goes on to SvelteKit', async () => {
  await expect(hooked('203.0.113.3', () => redirect(303, '/login'))).rejects.toMatchObject({ status: 303 })
})

test('React Router: an action holds no unit once it has ended or thrown', async () => {
  const call = (body: string, type: string) => {
    const headers = { 'x-real-ip': '203.0.113.6', 'content-type': type }
    return action({ request: new Request('https://example.com/login', { method: 'POST', headers, body }) })
  }
  const broken = () =>
    call('{', 'application/json').then(
      () => 'answered',
      (error) => (error as Error).name,
    )
  expect([await broken(), await broken(), await broken()]).toEqual(['TypeError', 'TypeError', 'TypeError'])
  const form = () => call('user=ann', 'application/x-www-form-urlencoded')
  expect([await form(), await form()]).toEqual([1, 0].map((left) => ({ user: 'ann', left })))
  await expect(form()).rejects.toMatchObject({ status: 429 })
})

test('AWS Lambda: a handler of its own counts failures, and holds no unit once it has ended or thrown', async () => {
  const call = (body: string) => {
    const requestContext = { http: { method: 'POST', sourceIp: '203.0.113.7' } }
    return own({ rawPath: '/login', requestContext, body }).then(
      ({ statusCode }) => statusCode,
      (error) => error.name,
    )
  }
  const right = JSON.stringify({ password: 'secret' })
  for (let n = 0; n < 6; n++) expect(await call(right)).toBe(204)
  const seen: unknown[] = []
  for (const body of ['{', '{}', '{', '{}', '{', '{}']) seen.push(await call(body))
  expect(seen).toEqual(['SyntaxError', 401, 'SyntaxError', 401, 'SyntaxError', 429])
})

test('Astro: a rewrite and an error page, for which the middleware runs again, are the same request', async () => {
  const context = () => {
    const request = new Request('https://example.com/')
    return { request, locals: {}, clientAddress: '203.0.113.9', isPrerendered: false }
  }
  const page = async () => new Response('page')
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) {
    const outer = context()
    // Astro.rewrite makes another Request, and keeps `locals`.
    const rewrite = () => onRequest({ ...outer, request: new Request('https://example.com/other') }, page)
    statuses.push((await onRequest(outer, async () => rewrite())).status)
  }
  expect(statuses).toEqual([200, 200, 429])
  expect((await onRequest({ ...context(), isPrerendered: true }, page)).status).toBe(200)
})
