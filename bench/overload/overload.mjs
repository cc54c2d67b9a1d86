/*
 * More live keys than a store has room for, and what it admits: counted on a clock of its own, the same in every run.
 *
 * Every key calls again and again at its own pace: a well-behaved one at half its limit, an abusive one at `greed` times
 * as much as it may, 3 unless told. Beside the store two ledgers without bound run: one is asked the same, and its answers are what is
 * due; one is told only what the store admitted, and says of each answer by itself whether it was right.
 */
import { random } from '../lib/keys.mjs'

const start = Date.UTC(2026, 0, 1) * 1000
const window = 60_000_000
const prefix = '203.0.'

/** @typedef {{ capacity: number, live: number, abusive: number, windows?: number, greed?: number }} Load */

/**
 * The calls of all keys in the order in which they come: microseconds since the start, times the number of keys, plus
 * the key. A key's calls come evenly, each a little early or late. The first `live * abusive` keys are the abusive ones.
 */
function calls({ live, abusive, windows = 3, greed = 3 }, limitOf) {
  const next = random(7)
  const all = []
  for (let key = 0; key < live; key++) {
    const pause = window / (limitOf(key) * (isAbusive(key, { live, abusive }) ? greed : 1 / 2))
    for (let time = next() * pause; time < windows * window; time += pause * (0.75 + next() / 2)) {
      all.push(Math.floor(time) * live + key)
    }
  }
  return Float64Array.from(all).sort()
}

function isAbusive(key, { live, abusive }) {
  return key < live * abusive
}

/** A bounded table that forgets who has not called for longest, as most limiters have. */
export function leastRecentlyUsed(ledger, capacity) {
  const order = new Map()
  return {
    decide(verb, keys, cost) {
      const [key] = keys
      order.delete(key)
      order.set(key, true)
      if (order.size > capacity) {
        const [oldest] = order.keys()
        order.delete(oldest)
        ledger.reset([oldest])
      }
      return ledger.decide(verb, keys, cost)
    },
  }
}

/**
 * Ledgers of the same keys under other policies each, as one: every key has a plan, and goes on to the next after each
 * `turn` of microseconds.
 */
export function planned(ledgers, clock, turn = Infinity) {
  return {
    decide(verb, keys, cost) {
      const plan = Number(keys[0].slice(prefix.length)) + Math.floor((clock() - start) / turn)
      return ledgers[plan % ledgers.length].decide(verb, keys, cost)
    },
  }
}

/**
 * @param {Load} load
 * @param {(clock: () => number, capacity: number) => { decide: Function }} open a ledger
 * @param {(key: number) => number} limitOf a key's tightest policy, in a minute
 */
export function overload(load, open, limitOf) {
  let now = start
  const clock = () => now
  const [store, due, told] = [load.capacity, load.live, load.live].map((capacity) => open(clock, capacity))
  const admitted = new Uint32Array(load.live)
  const allowed = new Uint32Array(load.live)
  const counted = { calls: 0, wellBehaved: 0, wronglyRefused: 0, wronglyAdmitted: 0 }
  for (const call of calls(load, limitOf)) {
    const key = call % load.live
    const keys = [`${prefix}${key}`]
    now = start + (call - key) / load.live
    const well = !isAbusive(key, load)
    const answer = store.decide('consume', keys, 1).allowed
    if (due.decide('consume', keys, 1).allowed) allowed[key]++
    const right = told.decide(answer ? 'consume' : 'peek', keys, 1).allowed
    counted.calls++
    if (well) counted.wellBehaved++
    if (answer) admitted[key]++
    if (answer && !right) {
      counted.wronglyAdmitted++
      told.decide('charge', keys, 1)
    }
    if (!answer && right && well) counted.wronglyRefused++
  }
  return {
    ...counted,
    ...ratios(admitted, allowed),
    wrongly: counted.wronglyRefused / Math.max(1, counted.wellBehaved),
  }
}

function ratios(admitted, allowed) {
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
  const worst = admitted.reduce((most, number, key) => Math.max(most, number / Math.max(1, allowed[key])), 0)
  return { overAdmission: sum(admitted) / sum(allowed), worst }
}
