import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { gcra } from '../../../src/index.ts'
import { type PacedFetchOptions, pacedFetch } from '../../../src/pacer/index.ts'
import { Timeline } from '../timeline.ts'

const start = Date.UTC(2026, 0, 1)
const even = gcra({ limit: 10, window: '1s', burst: 1 })

type Answer = [status: number, headers?: Record<string, string>]

/** A server that sends these responses one after the other, then 200. The timeline has an event for every request. */
function site(answers: Answer[], options: Partial<PacedFetchOptions> = {}) {
  const timeline = new Timeline(start)
  const pacer = timeline.pacer(even)
  const server = (async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const [status, headers = {}] = answers.shift() ?? [200]
    const body = input instanceof Request ? await input.text() : String(init?.body ?? '')
    timeline.events.push(`${status}${body && `(${body})`}+${timeline.now}`)
    const response = new Response('answer', { status, headers })
    // node-fetch gives the body as a stream of Node.
    return isForeign(input) ? Object.defineProperty(response, 'body', { value: Readable.from(['answer']) }) : response
  }) as typeof fetch
  const now = () => timeline.clock.milliseconds
  const get = pacedFetch(server, { pacer, random: () => 0, now, ...options })
  return { timeline, pacer, get }
}

const url = 'http://localhost/'

function isForeign(input: unknown): boolean {
  return typeof input === 'object' && !(input instanceof Request || input instanceof URL)
}

/** A request of another `fetch`, such as that of undici: it is no instance of the global class. */
function foreign(input: string, init: RequestInit): object {
  const { url: to, method, headers, signal } = new Request(input, init)
  return { url: to, method, headers, signal, clone: () => foreign(input, init) }
}

describe('pacedFetch', () => {
  test('requests keep the pace', async () => {
    const { timeline, get } = site([])
    for (const name of 'ABC') timeline.write(name, get(url))
    expect(await timeline.read()).toBe('200+0 A+0 200+100 B+100 200+200 C+200')
  })

  test.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['a date', { 'retry-after': new Date(start + 9000).toUTCString() }, 9000],
    ['X-RateLimit, epoch', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(start / 1000 + 4) }, 4000],
    ['draft 7', { ratelimit: 'limit=2, remaining=0, reset=3' }, 3000],
    ['draft 11', { ratelimit: '"day";r=5;t=9, "burst";r=0;t=2' }, 2000],
    ['Retry-After before RateLimit', { 'retry-after': '7', ratelimit: '"burst";r=0;t=2' }, 7000],
  ])('a refusal holds the pace until the named time, then the request is sent again: %s', async (_, headers, until) => {
    for (const status of [429, 503]) {
      const { timeline, get } = site([[status, headers]])
      timeline.write('A', get(url))
      await timeline.pass(50)
      timeline.write('B', get(url))
      const [first, second] = [`200+${until}`, `200+${until + 100}`]
      // A's retry comes before B, which came during the hold.
      expect(await timeline.read()).toBe(
        `${status}+0 ${first} A+${until} ${second} B+${until + 100}`.replace(/ A/, ' A'),
      )
    }
  })

  test('a response with nothing remaining holds the next request', async () => {
    const { timeline, get } = site([[200, { ratelimit: '"burst";r=0;t=2' }]])
    for (const name of 'AB') timeline.write(name, get(url))
    expect(await timeline.read()).toBe('200+0 A+0 200+2000 B+2000')
  })

  test('a cached response, and a limit in other units, delays no call', async () => {
    const policy = { 'ratelimit-policy': '"b";q=9;qu="content-bytes"', ratelimit: '"b";r=0;t=2' }
    const { timeline, get } = site([
      [200, { age: '5', ratelimit: '"burst";r=0;t=2' }],
      [200, policy],
    ])
    for (const name of 'ABC') timeline.write(name, get(url))
    expect(await timeline.read()).toBe('200+0 A+0 200+100 B+100 200+200 C+200')
  })

  test.each([
    ['a clock as here', 0],
    ['a clock five minutes behind', -300_000],
    ['a clock three seconds ahead', 3000],
  ])('a response that a cache keeps without Age, of a server with %s, delays calls once', async (_what, skew) => {
    const spent = (at: number) => ({ date: new Date(start + at + skew).toUTCString(), ratelimit: '"burst";r=0;t=4' })
    const { timeline, get } = site([
      [200, spent(0)],
      [200, spent(0)],
      [200, spent(10_000)],
    ])
    timeline.write('A', get(url))
    await timeline.pass(10_000)
    for (const name of 'BCD') timeline.write(name, get(url))
    expect(await timeline.read()).toBe('200+0 A+0 200+10000 B+10000 200+10100 C+10100 200+14100 D+14100')
  })

  test('the fields of a server whose clock was set back delay calls, once its clock shows a new time', async () => {
    const spent = (at: number) => ({ date: new Date(start + at).toUTCString(), ratelimit: '"burst";r=0;t=4' })
    const { timeline, get } = site([
      [200, spent(0)],
      [200, spent(-10_000)],
      [200, spent(5000)],
    ])
    for (const name of 'ABCD') {
      timeline.write(name, get(url))
      await timeline.pass(name === 'C' ? 0 : 10_000)
    }
    expect(await timeline.read()).toBe('200+0 A+0 200+10000 B+10000 200+20000 C+20000 200+24000 D+24000')
  })

  test('a relative address, which the fetch of SvelteKit accepts, is sent', async () => {
    const { timeline, get } = site([[429, { 'retry-after': '1' }]])
    timeline.write('A', get('/api'))
    expect(await timeline.read()).toBe('429+0 200+1000 A+1000')
  })

  test('the backoff doubles with each retry, with jitter', async () => {
    const { timeline, get } = site([[503], [503], [503], [503], [503]], { random: () => 0.5 })
    const response = get(url)
    expect(await timeline.read()).toBe('503+0 503+1500 503+4500 503+10500')
    expect((await response).status).toBe(503)
  })

  test('jitter is at most a tenth of the named time', async () => {
    const { timeline, get } = site([[429, { 'retry-after': '10' }]], { random: () => 0.999 })
    timeline.write('A', get(url))
    expect(await timeline.read()).toBe('429+0 200+10999 A+10999')
  })

  test('only an idempotent request whose body can be sent twice is sent again', async () => {
    const refusals = (): Answer[] => [[429, { 'retry-after': '1' }]]
    for (const init of [{ method: 'POST', body: 'x' }, { method: 'PATCH' }]) {
      const { timeline, get } = site(refusals())
      const response = get(url, init)
      await timeline.read()
      expect((await response).status).toBe(429)
    }
    const stream = site(refusals())
    const flowing = stream.get(url, { method: 'PUT', body: new Blob(['x']).stream(), duplex: 'half' } as RequestInit)
    await stream.timeline.read()
    expect((await flowing).status).toBe(429)
    const nodeFetch = site(refusals())
    const piped = { ...foreign(url, { method: 'PUT' }), body: Readable.from(['x']) }
    const unread = nodeFetch.get(piped as never)
    await nodeFetch.timeline.read()
    expect((await unread).status).toBe(429)
    const put = site(refusals())
    put.timeline.write('A', put.get(new Request(url, { method: 'PUT', body: 'x' })))
    expect(await put.timeline.read()).toBe('429(x)+0 200(x)+1000 A+1000')
  })

  test.each<[string, Partial<PacedFetchOptions>, RequestInit, boolean]>([
    ['a POST', {}, { method: 'POST', body: 'x' }, false],
    ['a POST that retryMethods name', { retryMethods: ['post'] }, { method: 'POST', body: 'x' }, true],
    ['a GET that retryMethods leave out', { retryMethods: ['POST'] }, {}, false],
    ['a POST with a key', {}, { method: 'POST', body: 'x', headers: { 'Idempotency-Key': '1' } }, true],
    ['a PATCH with a key, in pairs', {}, { method: 'PATCH', headers: [['idempotency-key', '1']] }, true],
    ['a key, without retries', { retries: 0 }, { method: 'POST', headers: { 'Idempotency-Key': '1' } }, false],
  ])('%s is repeated as it may be', async (_, options, init, repeated) => {
    const requests: [RequestInit | URL, RequestInit?][] = [
      [new URL(url), init],
      [new Request(url, init) as RequestInit],
      [foreign(url, init) as RequestInit],
    ]
    for (const [input, own] of requests) {
      const { timeline, get } = site([[429, { 'retry-after': '1' }]], options)
      const response = get(input as Request, own)
      await timeline.read()
      expect((await response).status).toBe(repeated ? 200 : 429)
    }
  })

  test('in a page of React, which keeps a clone unread and repeats responses to requests without a signal', async () => {
    const timeline = new Timeline(start)
    let sent = 0
    let memory: Response | undefined
    const react = (async (_input, init) => {
      if (memory !== undefined && !init?.signal) return memory.clone()
      const response = new Response('answer', { status: sent++ === 0 ? 429 : 200, headers: { 'retry-after': '1' } })
      memory ??= response.clone()
      return response
    }) as typeof fetch
    const now = () => timeline.clock.milliseconds
    timeline.write('A', pacedFetch(react, { pacer: timeline.pacer(even), random: () => 0, now })(url))
    expect([await timeline.read(), sent]).toEqual(['A+1000', 2])
  })

  test('a stream is not sent again, even with a key', async () => {
    const { timeline, get } = site([[429, { 'retry-after': '1' }]], { retryMethods: ['POST'] })
    const body = new Blob(['x']).stream()
    const flowing = get(url, {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { 'idempotency-key': '1' },
    } as RequestInit)
    await timeline.read()
    expect((await flowing).status).toBe(429)
  })

  test('each host has its pace, and its own hold', async () => {
    const timeline = new Timeline(start)
    const others = timeline.pacer(even)
    const paces = new Map([['slow', timeline.pacer(gcra({ limit: 1, window: '1s', burst: 1 }))]])
    const server = async (input: unknown) => {
      const { host } = new URL(String(input))
      const refused = host === 'busy' && timeline.now < 500
      return new Response(host, { status: refused ? 429 : 200, headers: refused ? { 'retry-after-ms': '500' } : {} })
    }
    const options = { pacer: ({ host }: URL) => paces.get(host) ?? others.key(host), random: () => 0 }
    const get = pacedFetch(server as typeof fetch, options)
    for (const host of ['slow', 'busy', 'quiet', 'slow', 'busy', 'quiet']) timeline.write(host, get(`http://${host}/`))
    expect(await timeline.read()).toBe('slow+0 quiet+0 quiet+100 busy+500 busy+600 slow+1000')
  })

  test('a higher priority is sent first, also after a refusal', async () => {
    const priority = (input: unknown) => Number(new URL(String(input)).searchParams.get('p'))
    const { timeline, get } = site([[429, { 'retry-after': '1' }]], { priority })
    for (const p of [0, 0, 5, 1]) timeline.write(`p${p}`, get(`${url}?p=${p}`))
    expect(await timeline.read()).toBe('429+0 200+1000 p5+1000 200+1100 p1+1100 200+1200 p0+1200 200+1300 p0+1300')
  })

  test('a URL without a pacer rejects with the fix, and sends nothing', async () => {
    const { timeline, get } = site([], { pacer: (() => undefined) as never })
    await expect(get(url)).rejects.toThrow(/got undefined for localhost/)
    await expect(get(url)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    expect(timeline.events).toEqual([])
  })

  test.each(['pacer', 'key', 'cost', 'priority'])(
    '%s that returns a promise rejects, and its rejection ends nothing',
    async (option) => {
      const broken = (async () => Promise.reject(new Error('late'))) as never
      const { timeline, get } = site([], { [option]: broken })
      await expect(get(url)).rejects.toThrow(`${option} must not return a promise`)
      expect(timeline.events).toEqual([])
    },
  )

  test.each([
    { retryMethods: 'POST' },
    { retryMethods: [1] },
    { priority: 'high' },
    { priority: Number.NaN },
    { pacer: {} },
  ])('%j is refused', (options) => {
    expect(() => site([], options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  })

  test('a hold is at most maxHold, and the refused request is not sent again then', async () => {
    const { timeline, get } = site([[429, { 'retry-after': '99999999999999' }]], { maxHold: '10s' })
    timeline.write('A', get(url))
    timeline.write('B', get(url))
    expect(await timeline.read()).toBe('429+0 A+0 200+10000 B+10000')
  })

  test('the signal ends the wait, and leaves no timer', async () => {
    const { timeline, get } = site([[429, { 'retry-after': '60' }]])
    const controller = new AbortController()
    timeline.write('A', get(url, { signal: controller.signal }))
    await timeline.pass(100)
    controller.abort('enough')
    expect(await timeline.read()).toBe('429+0 A!enough+100')
    expect(timeline.sleeps.size).toBe(0)
  })

  test('a refused request is sent again even if the body of the refusal fails', async () => {
    const timeline = new Timeline(start)
    const answers = [429, 200].map((status) => {
      const body = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) })
      return new Response(status === 429 ? body : 'answer', { status, headers: { 'retry-after': '1' } })
    })
    const get = pacedFetch((async () => answers.shift()) as never, { pacer: timeline.pacer(even), random: () => 0 })
    timeline.write('A', get(url))
    expect(await timeline.read()).toBe('A+1000')
  })

  test('a signal of null removes that of the request, as in fetch', async () => {
    const { timeline, get } = site([])
    const request = new Request(url, { signal: AbortSignal.abort('gone') })
    timeline.write('A', get(request, { signal: null }))
    expect(await timeline.read(0)).toBe('200+0 A+0')
    timeline.write('B', get(request))
    expect(await timeline.read()).toBe('200+0 A+0 B!gone+0')
  })

  test('a request whose body was read is rejected', async () => {
    const { timeline, get } = site([])
    const request = new Request(url, { method: 'PUT', body: 'x' })
    await request.text()
    timeline.write('A', get(request))
    expect(await timeline.read()).toMatch(/^A!.*(used|unusable|read).*\+0$/i)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('with a key, each host has its own pace', async () => {
    const { timeline, pacer, get } = site([[429, { 'retry-after': '1' }]], { key: ({ host }) => host })
    timeline.write('A', get('http://one/'))
    timeline.write('B', get('http://two/'))
    expect(await timeline.read()).toBe('429+0 200+0 B+0 200+1000 A+1000')
    expect(pacer.keys).toBe(0)
  })

  test('a response still arrives when the pacer is closed meanwhile', async () => {
    const { timeline, pacer, get } = site([[429, { 'retry-after': '1' }]])
    const call = timeline.write('A', get(url, { method: 'POST' }))
    pacer.close()
    await call
    expect(timeline.events).toEqual(['429+0', 'A+0'])
  })

  test.each([
    [undefined, {}],
    [fetch, {}],
    [fetch, { pacer: {} }],
  ])('invalid arguments are refused', (fetch, options) => {
    expect(() => pacedFetch(fetch as never, options as never)).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION' }),
    )
  })
})
