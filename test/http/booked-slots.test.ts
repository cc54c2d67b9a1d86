import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { BookedSlots } from '../../src/http/held/booked-slots.ts'
import { gcra, memoryStore, type Policy, RateLimiter, slidingLog, tokenBucket } from '../../src/index.ts'
import { seededRandom } from '../support/seeded-random.ts'

/* The slots of `delay` without HTTP: requests come, wait, and leave, on a manual clock. */

/** Moves with the timers. */
const clock = () => Date.now() * 1000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 2_000_000_000_000 }))
afterEach(() => void vi.useRealTimers())

class Requests {
  readonly events: string[] = []
  /** The times and costs of those that went on. */
  readonly served: { time: number; cost: number }[] = []
  readonly slots = new BookedSlots()
  readonly limiter: RateLimiter
  readonly #start = Date.now()
  readonly #waiting = new Map<string, () => void>()

  constructor(policies: Policy) {
    this.limiter = new RateLimiter({ policies, store: memoryStore({ clock }) })
  }

  get now(): number {
    return Date.now() - this.#start
  }

  async come(name: string, { key = 'k', cost = 1 } = {}): Promise<void> {
    const reservation = await this.limiter.reserve(key, { cost, maxWait: '1h' })
    if (reservation.wait === 0) {
      this.#go(name, cost)
      return
    }
    let left = () => {}
    const giveBack = () => void reservation.cancel()
    const wait = this.slots.wait({ key, cost, reservation, giveBack }, (leave) => {
      left = leave
    })
    this.#waiting.set(name, left)
    void wait.then((used) => {
      this.#waiting.delete(name)
      if (used !== undefined) this.#go(name, cost)
    })
  }

  #go(name: string, cost: number): void {
    this.events.push(`${name}+${this.now}`)
    this.served.push({ time: clock(), cost })
  }

  get waiting(): string[] {
    return [...this.#waiting.keys()]
  }

  async leave(name: string): Promise<void> {
    this.#waiting.get(name)?.()
    await vi.advanceTimersByTimeAsync(0)
  }

  async pass(milliseconds: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(milliseconds)
  }
}

const even = gcra({ limit: 10, window: '1s', burst: 1 })

describe('a client that leaves', () => {
  test.each([
    ['nobody', '', 'A+0 B+100 C+200 D+300 E+400 F+500', 400],
    ['the first', 'B', 'A+0 C+100 D+200 E+300 F+400', 300],
    ['one in the middle', 'C', 'A+0 B+100 D+200 E+300 F+400', 300],
    ['the last', 'E', 'A+0 B+100 C+200 D+300 F+400', 300],
    ['several', 'CBE', 'A+0 D+100 F+200', 100],
    ['all', 'BCDE', 'A+0 F+100', 0],
  ])('%s: those behind move up, and the last slot is given back', async (_, leaving, expected, wait) => {
    const requests = new Requests(even)
    for (const name of 'ABCDE') await requests.come(name)
    for (const name of leaving) await requests.leave(name)
    expect(vi.getTimerCount()).toBe(4 - leaving.length)
    expect((await requests.limiter.peek('k')).retryAfter).toBe(wait + 100)
    await requests.come('F')
    await requests.pass(600)
    expect(requests.events.join(' ')).toBe(expected)
    expect([requests.slots.size, vi.getTimerCount()]).toEqual([0, 0])
  })

  test('between two slots, also twice and by a request that went already', async () => {
    const requests = new Requests(even)
    for (const name of 'ABCD') await requests.come(name)
    await requests.pass(150)
    await requests.leave('C')
    await requests.leave('C')
    await requests.leave('B')
    await requests.come('E')
    await requests.pass(400)
    expect(requests.events.join(' ')).toBe('A+0 B+100 D+200 E+300')
    expect((await requests.limiter.peek('k')).resetAfter).toBe(0)
  })

  test('on an asynchronous store: the slot stays for those who come, and is given back when nobody waits', async () => {
    const requests = new Requests(even)
    for (const name of 'ABCD') await requests.come(name)
    const answered = requests.slots.ask('k', 1)
    await requests.leave('B')
    expect((await requests.limiter.peek('k')).retryAfter).toBe(400)
    await requests.pass(100)
    await requests.come('E')
    expect(requests.events.join(' ')).toBe('A+0 C+100')
    answered(false)
    expect((await requests.limiter.peek('k')).retryAfter).toBe(400)
    await requests.pass(200)
    expect(requests.events.join(' ')).toBe('A+0 C+100 D+200 E+300')
    expect((await requests.limiter.peek('k')).retryAfter).toBe(100) // 200 with the slot at 400
    expect([requests.slots.size, vi.getTimerCount()]).toEqual([0, 0])
  })

  test('a slot that nobody waits for any more is given back when it comes', async () => {
    const requests = new Requests(even)
    for (const name of 'AB') await requests.come(name)
    const answered = requests.slots.ask('k', 1)
    await requests.leave('B')
    await requests.pass(100)
    expect(requests.slots.size).toBe(1)
    answered(false)
    expect([requests.slots.size, vi.getTimerCount()]).toEqual([0, 0])
  })

  test('keys have slots of their own, and a key record is one key', async () => {
    const requests = new Requests(even)
    for (const key of ['a', 'b']) for (const n of [1, 2, 3]) await requests.come(`${key}${n}`, { key })
    expect(requests.slots.size).toBe(2)
    await requests.leave('a2')
    await requests.pass(300)
    expect(requests.events.join(' ')).toBe('a1+0 b1+0 a3+100 b2+100 b3+200')
    const reservation = await requests.limiter.reserve('a', { maxWait: '1h' })
    const never = () => undefined
    for (const user of ['u', 'u', 'v']) {
      void requests.slots.wait({ key: { user, address: '::1' }, cost: 1, reservation, giveBack: never }, never)
    }
    expect(requests.slots.size).toBe(2)
    await vi.runAllTimersAsync()
    expect(requests.slots.size).toBe(0)
  })

  test('before its wait begins', async () => {
    const requests = new Requests(even)
    await requests.come('A')
    const reservation = await requests.limiter.reserve('k', { maxWait: '1h' })
    const giveBack = vi.fn()
    const used = await requests.slots.wait({ key: 'k', cost: 1, reservation, giveBack }, (leave) => leave())
    expect([used, requests.slots.size, vi.getTimerCount()]).toEqual([undefined, 0, 0])
    expect(giveBack).toHaveBeenCalledOnce()
  })
})

describe.each([
  ['bucket, burst 1', even, 1],
  ['bucket', tokenBucket({ limit: 20, window: '1s', burst: 5 }), 1],
  ['bucket, costs 1 to 3', tokenBucket({ limit: 20, window: '1s', burst: 5 }), 3],
  ['log', slidingLog({ limit: 4, window: '200ms' }), 1],
  ['log, costs 1 to 3', slidingLog({ limit: 4, window: '200ms' }), 3],
] as const)('%s: requests come and leave at random', (_, policy, costs) => {
  test.each([1, 2, 3])(
    'no more are served than the policy admits, and those that left do not count (seed %s)',
    async (seed) => {
      const random = seededRandom(seed)
      const requests = new Requests(policy)
      for (let n = 0; n < 400; n++) {
        await requests.come(`r${n}`, { cost: 1 + random(costs) })
        const { waiting } = requests
        if (random(10) < 6 && waiting.length > 0) await requests.leave(waiting[random(waiting.length)] as string)
        await requests.pass(random(60))
      }
      for (const name of costs === 1 ? requests.waiting : []) await requests.leave(name)
      const left = await requests.limiter.peek('k')
      const at = clock()
      await requests.pass(60_000)
      expect([requests.waiting, requests.slots.size]).toEqual([[], 0])
      let time = 0
      const judge = new RateLimiter({ policies: policy, store: memoryStore({ clock: () => time }) })
      for (const { time: at, cost } of requests.served) {
        time = at
        expect(judge.consumeSync('k', { cost }).allowed).toBe(true)
      }
      time = at
      if (costs === 1) expect(left).toEqual(await judge.peek('k'))
      time = clock()
      expect(await requests.limiter.peek('k')).toEqual(await judge.peek('k'))
    },
  )
})
