import { channel } from 'node:diagnostics_channel'
import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, slidingLog, tokenBucket } from '../../src/index.ts'
import { Timeline } from './timeline.ts'

/* A cost for each policy. */

const requests = slidingLog({ name: 'requests', limit: 2, window: '1s' })
const tokens = tokenBucket({ name: 'tokens', limit: 1000, window: '1s' })

function budget(options = {}) {
  const timeline = new Timeline()
  const pacer = timeline.pacer({ policies: [requests, tokens], ...options } as never)
  return { timeline, pacer }
}

test('each policy takes its own number', async () => {
  const { timeline, pacer } = budget()
  timeline.write('A', pacer.acquire({ requests: 1, tokens: 900 }))
  timeline.write('B', pacer.acquire({ requests: 1, tokens: 300 })) // waits for 200 tokens
  timeline.write('C', pacer.acquire({ requests: 1, tokens: 1 })) // waits for a request
  expect(await timeline.read()).toBe('A+0 B+200 C+1000')
})

test('0 leaves a policy alone, and a number counts for all', async () => {
  const { timeline, pacer } = budget()
  timeline.write('A', pacer.acquire(2))
  timeline.write('B', pacer.acquire({ requests: 0, tokens: 998 }))
  timeline.write('C', pacer.tryAcquire({ requests: 0, tokens: 1 }))
  timeline.write(
    'D',
    pacer.throttle(() => 1, { cost: { requests: 0, tokens: 1 } }),
  )
  expect(await timeline.read()).toBe('A+0 B+0 C+0=false D+1')
})

test('a reservation is corrected policy by policy', async () => {
  const { timeline, pacer } = budget()
  const reservation = await pacer.reserve({ requests: 1, tokens: 1000 })
  await reservation.settle({ tokens: 100 })
  await reservation.settle({ tokens: 0 })
  timeline.write('A', pacer.acquire({ requests: 1, tokens: 900 }))
  timeline.write('B', pacer.acquire({ requests: 1, tokens: 1 }))
  expect(await timeline.read()).toBe('A+0 B+1000')
  const refused = await pacer.reserve({ requests: 3, tokens: 1 })
  expect([refused.allowed, refused.retryAfter]).toEqual([false, Infinity])
})

test.each<[unknown]>([
  [{ tokens: 1 }],
  [{ requests: 1, tokens: 1, cents: 1 }],
  [{ requests: 1.5, tokens: 1 }],
  [{ requests: -1, tokens: 1 }],
  [null],
  ['1'],
  [[1, 2]],
])('%j is refused by every method', async (given) => {
  const { pacer } = budget()
  const wrong = given as number
  const run = () => 1
  const calls = [
    pacer.acquire(wrong),
    pacer.tryAcquire(wrong),
    pacer.reserve(wrong),
    pacer.throttle(run, { cost: wrong }),
  ]
  for (const result of await Promise.allSettled(calls)) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'HEADGATE_COST' } })
  }
  const reservation = await pacer.reserve()
  await expect(reservation.settle({ cents: 1 })).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  await reservation.settle({ tokens: 5 })
})

test('calls of one cost share their slots, and leave none behind', async () => {
  const timeline = new Timeline()
  const pacer = timeline.pacer(gcra({ name: 'pace', limit: 10, window: '1s', burst: 2 }))
  await pacer.acquire(2)
  const controller = new AbortController()
  timeline.write('A', pacer.acquire({ pace: 2 }))
  timeline.write('B', pacer.acquire({ pace: 2 }, { signal: controller.signal }))
  timeline.write('C', pacer.acquire({ pace: 1 }))
  timeline.write('D', pacer.acquire({ pace: 2 }, { priority: 1 }))
  await timeline.pass(0)
  controller.abort('gone')
  expect(await timeline.read()).toBe('B!gone+0 D+200 A+400 C+500')
  expect(timeline.sleeps.size).toBe(0)
})

describe("with spacing: 'actual'", () => {
  test('what was admitted is counted under each policy', async () => {
    const { timeline, pacer } = budget({ spacing: 'actual' })
    timeline.write('A', pacer.acquire({ requests: 1, tokens: 900 }))
    timeline.write('B', pacer.acquire({ requests: 1, tokens: 300 }))
    timeline.write('C', pacer.acquire(1))
    expect(await timeline.read()).toBe('A+0 B+200 C+1000')
  })
})

test('events tell the cost as it was given, and the progress counts the largest number', async () => {
  const timeline = new Timeline()
  const seen: unknown[] = []
  const note = (message: unknown) => void seen.push((message as { cost: unknown }).cost)
  channel('headgate:pacer:admitted').subscribe(note)
  const pacer = timeline.pacer({ policies: [fixedWindow({ name: 'a', limit: 5, window: '1s' }), tokens] } as never)
  await pacer.acquire({ a: 1, tokens: 20 })
  await pacer.acquire(3)
  channel('headgate:pacer:admitted').unsubscribe(note)
  expect(seen).toEqual([{ a: 1, tokens: 20 }, 3])
  expect(pacer.progress.cost).toBe(23)
})
