/** The place of a request that the server has refused, and the time that an attempt may take. */
import { describe, expect, test } from 'vitest'
import { concurrency, gcra, type PolicyLike, slidingLog } from '../../../src/index.ts'
import { type PacedFetchOptions, Pacer, type PacerOptions, pacedFetch } from '../../../src/pacer/index.ts'
import { Timeline } from '../timeline.ts'

const start = Date.UTC(2026, 0, 1)
const even = gcra({ limit: 10, window: '1s', burst: 1 })
const log = slidingLog({ limit: 1, window: '100ms' })
const busy = { status: 429, headers: { 'retry-after': '1' } }

interface Site {
  readonly policies?: PolicyLike | readonly PolicyLike[]
  readonly options?: PacerOptions
  readonly fetch?: Partial<PacedFetchOptions>
}

/** A server that refuses the first requests, then answers 200. The timeline has an event for each request: its name, status and time. */
function site(refusals: number, { policies = even, options = {}, fetch = {} }: Site = {}) {
  const timeline = new Timeline(start)
  const { clock, sleeper, events } = timeline
  const pacer = new Pacer({ policies, clock: clock.now, sleeper, ...options })
  let left = refusals
  const server = (async (input: unknown) => {
    const refused = left-- > 0
    events.push(`${new URL(String(input)).hash}:${refused ? 429 : 200}+${timeline.now}`)
    return new Response('', refused ? busy : {})
  }) as typeof globalThis.fetch
  const get = pacedFetch(server, { pacer, random: () => 0, now: () => clock.milliseconds, ...fetch })
  /** Sends a request of this name. The result is the status, or the code or the reason of the rejection. */
  const send = (name: string, init?: RequestInit) =>
    get(`http://localhost/#${name}`, init).then(
      ({ status }) => status,
      (error) => error.code ?? error,
    )
  return { timeline, pacer, send, events }
}

describe.each([
  ['booked slots', even],
  ['polled slots', [log, concurrency({ limit: 1, lease: '30s' })]],
])('a refused request is repeated before the calls that came later: %s', (_, policies) => {
  test('whether they came before its response or after', async () => {
    const { timeline, send, events } = site(1, { policies })
    const statuses = Promise.all(['a', 'b', 'c'].map((name) => send(name)))
    await timeline.pass(500)
    const last = send('d')
    await timeline.read()
    expect(events).toEqual(['#a:429+0', '#a:200+1000', '#b:200+1100', '#c:200+1200', '#d:200+1300'])
    expect([...(await statuses), await last]).toEqual([200, 200, 200, 200])
  })

  test('and stays one of the functions that `concurrency` lets run', async () => {
    const { timeline, pacer, send, events } = site(2, { policies, options: { concurrency: 1 } })
    const statuses = Promise.all(['a', 'b', 'c'].map((name) => send(name)))
    await timeline.pass(500)
    expect([pacer.running, pacer.waiting]).toEqual([0, 3])
    await timeline.read()
    expect(events).toEqual(['#a:429+0', '#a:429+1000', '#a:200+2000', '#b:200+2100', '#c:200+2200'])
    expect(await statuses).toEqual([200, 200, 200])
    expect([pacer.running, pacer.waiting]).toEqual([0, 0])
  })

  test.each(['newest', 'oldest'] as const)('a full queue does not refuse it: order %s', async (order) => {
    const { timeline, send, events } = site(1, { policies, options: { maxQueue: 2, order } })
    const first = send('a')
    await timeline.pass(50)
    const others = ['b', 'c', 'd'].map((name) => send(name))
    const refused = order === 'newest' ? 'd' : 'b'
    await timeline.read()
    expect(events.slice(0, 2)).toEqual(['#a:429+0', '#a:200+1000'])
    expect(await first).toBe(200)
    const codes = ['b', 'c', 'd'].map((name) => (name === refused ? 'HEADGATE_QUEUE_FULL' : 200))
    expect(await Promise.all(others)).toEqual(codes)
  })

  test('an abort or a closed pacer ends its wait, and nothing stays behind', async () => {
    for (const end of ['abort', 'close']) {
      const { timeline, pacer, send } = site(1, { policies, options: { concurrency: 1 } })
      const controller = new AbortController()
      const first = send('a', { signal: controller.signal })
      const second = send('b')
      await timeline.pass(100)
      if (end === 'abort') controller.abort('enough')
      else pacer.close()
      await timeline.read()
      expect([await first, await second]).toEqual(
        end === 'abort' ? ['enough', 200] : ['HEADGATE_CLOSED', 'HEADGATE_CLOSED'],
      )
      await pacer.drain()
      expect([pacer.running, pacer.waiting, timeline.sleeps.size]).toEqual([0, 0, 0])
    }
  })

  test('if the pacer is closed or the signal aborted while the request runs, it is not repeated', async () => {
    for (const end of ['abort', 'close']) {
      const { timeline, pacer, send, events } = site(1, { policies })
      const controller = new AbortController()
      const first = send('a', { signal: controller.signal })
      while (events.length === 0) await undefined
      if (end === 'abort') controller.abort('enough')
      else pacer.close()
      await timeline.read()
      expect(await first).toBe(end === 'abort' ? 'enough' : 'HEADGATE_CLOSED')
      expect([events.length, pacer.running, pacer.waiting]).toEqual([1, 0, 0])
    }
  })
})

describe('runTimeout', () => {
  /** A server that never answers the first requests. Its events have the reasons of aborts. */
  function hanging(count: number, fetch: Partial<PacedFetchOptions> = {}, policies: PolicyLike = even) {
    const timeline = new Timeline(start)
    let left = count
    const server = (async (_input: unknown, init?: RequestInit) => {
      if (left-- <= 0) return new Response('')
      return new Promise((_, reject) => {
        const { signal } = init ?? {}
        signal?.addEventListener('abort', () => {
          timeline.events.push(`aborted:${signal.reason.code ?? signal.reason}+${timeline.now}`)
          reject(signal.reason)
        })
      })
    }) as typeof globalThis.fetch
    const pacer = timeline.pacer(policies, { concurrency: 1 })
    return { timeline, get: pacedFetch(server, { pacer, now: () => timeline.clock.milliseconds, ...fetch }) }
  }

  test('aborts an attempt that gets no response in time, and the next request may start', async () => {
    const { timeline, get } = hanging(1, { runTimeout: '10s' })
    timeline.write('A', get('http://localhost/'))
    timeline.write('B', get(new Request('http://localhost/')))
    expect(await timeline.read()).toBe('aborted:HEADGATE_RUN_TIMEOUT+10000 A!HEADGATE_RUN_TIMEOUT+10000 B+10000')
    expect(timeline.sleeps.size).toBe(0)
  })

  test('the signal of the request still aborts it', async () => {
    for (const asRequest of [false, true]) {
      const { timeline, get } = hanging(1, { runTimeout: '10s' })
      const controller = new AbortController()
      const init = { signal: controller.signal }
      timeline.write('A', asRequest ? get(new Request('http://localhost/', init)) : get('http://localhost/', init))
      await timeline.pass(100)
      controller.abort('enough')
      expect(await timeline.read()).toBe('aborted:enough+100 A!enough+100')
    }
  })

  test('each attempt has the whole time, and the wait before it does not count', async () => {
    const { timeline, send, events } = site(3, { fetch: { runTimeout: '500ms' } })
    const status = send('a')
    await timeline.read()
    expect(events).toEqual(['#a:429+0', '#a:429+1000', '#a:429+2000', '#a:200+3000'])
    expect(await status).toBe(200)
  })

  test.each([0, -1, '10', null])('%j is refused', (runTimeout) => {
    expect(() => hanging(0, { runTimeout: runTimeout as never })).toThrow(/runTimeout/)
  })
})
