/*
 * Pacers on a store that hangs, fails and loses replies, with aborts, timeouts, reservations, pauses, holds and keys.
 * Whatever happens, no window has more than `limit`, every call ends, and nothing is left behind. Faults that only delay a
 * reply are left out: a slot is a time by the store, and a caller that learns it later comes later.
 */
import { memoryStore, slidingLog, slidingWindow } from 'headgate'
import { Pacer } from 'headgate/pacer'
import { faultyStore, ManualClock } from 'headgate/testing'

const limit = 20
const window = 1000
const steps = 400

class Round {
  clock = new ManualClock()
  asked = 0
  ended = 0
  pending = new Set()
  /** The slots of the last `limit` calls of each key. */
  slots = new Map()

  constructor(policy, random, counts) {
    this.random = random
    this.counts = counts
    this.store = faultyStore(memoryStore({ clock: this.clock.now }), { clock: this.clock })
    this.pacer = new Pacer(policy, {
      clock: this.clock.now,
      sleeper: this.clock.sleeper,
      store: this.store,
      storeTimeout: '2s',
      onStoreError: 'closed',
      concurrency: 50,
      maxQueue: 200,
      order: random.pick(['oldest', 'newest']),
    })
  }

  call() {
    const { random, pacer, clock } = this
    const key = `${random.below(4)}`
    const controller = new AbortController()
    const options = {
      signal: controller.signal,
      timeout: random.pick([undefined, 0, 300, 5000]),
      priority: random.below(3),
    }
    const slot = () => {
      const slots = this.slots.get(key) ?? []
      this.slots.set(key, slots)
      slots.push(clock.milliseconds)
      if (slots.length > limit && clock.milliseconds - slots.shift() < window) throw new Error(`too many of key ${key}`)
      this.counts.admitted++
    }
    this.asked++
    this.pending.add(controller)
    const runs = random.chance(0.3)
    const nap = () => new Promise((resolve) => clock.sleeper(random.below(100), () => resolve(undefined)))
    const done = runs
      ? pacer.key(key).throttle(() => [slot(), nap()][1], options)
      : pacer.key(key).acquire(1, options).then(slot)
    done
      .catch((error) => {
        if (/too many/.test(error?.message)) this.broken = error
        const why = error?.name === 'AbortError' ? 'aborted' : error?.code
        this.counts[why] = (this.counts[why] ?? 0) + 1
      })
      .finally(() => {
        this.ended++
        this.pending.delete(controller)
      })
  }

  async book() {
    const reservation = await this.pacer
      .key(`${this.random.below(4)}`)
      .reserve()
      .catch(() => undefined)
    await reservation?.cancel().catch(() => undefined)
  }

  async step() {
    const { random, pacer, store, clock } = this
    const odds = random.next()
    if (odds < 0.6) for (let n = random.below(10); n >= 0; n--) this.call()
    else if (odds < 0.7) [...this.pending][random.below(this.pending.size)]?.abort()
    else if (odds < 0.75) void this.book()
    else if (odds < 0.78) store.fail(random.pick(['error', 'hang', 'lost-reply']))
    else if (odds < 0.84) store.heal()
    else if (odds < 0.86) pacer.pause()
    else if (odds < 0.9) pacer.resume()
    else if (odds < 0.91) pacer.key(`${random.below(4)}`).hold(random.below(500))
    if (random.chance(0.5)) await clock.pass(random.below(150))
  }

  async run() {
    for (let n = 0; n < steps; n++) await this.step()
    const { pacer, store, clock, asked } = this
    store.heal()
    pacer.resume()
    await clock.pass('60s')
    if (this.broken) throw this.broken
    const left = [asked - this.ended, pacer.waiting, pacer.running, clock.sleeping]
    if (left.some((count) => count !== 0))
      throw new Error(`a pacer left behind calls, waiters, runs, sleepers: ${left}`)
    pacer.close()
    this.counts.asked += asked
    for (const [kind, count] of Object.entries(store.counts))
      this.counts.faults[kind] = (this.counts.faults[kind] ?? 0) + count
  }
}

export async function pacers({ until, random }) {
  const counts = { asked: 0, admitted: 0, faults: {} }
  while (performance.now() < until) {
    for (const policy of [slidingLog({ limit, window }), slidingWindow({ limit: limit / 2, window })]) {
      await new Round(policy, random, counts).run()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return counts
}
