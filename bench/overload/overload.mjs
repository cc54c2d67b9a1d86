/*
 * What a store admits when more keys are live than it can hold. Counted on a clock of its own, the same in every run.
 *
 * Every key calls again and again at its own pace: a well-behaved key at half its limit, an abusive key at `greed` times
 * its limit (default 3). Two ledgers without bound run beside the store. One gets the same calls, and its decisions say
 * what each key is due. The other gets only what the store admitted, and checks each decision.
 */
import { random } from '../lib/keys.mjs'

const start = Date.UTC(2026, 0, 1) * 1000
const window = 60_000_000
const prefix = '203.0.'

/** @typedef {{ capacity: number, live: number, abusive: number, windows?: number, greed?: number }} Load */

/**
 * The calls of all keys in the order of their times. Each is one number: microseconds since the start, times the number
 * of keys, plus the key. A key's calls are evenly spaced, each a little early or late. The first `live * abusive` keys
 * are the abusive ones.
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

/**
 * The ledgers of several plans as one ledger. Key n starts with plan n and goes on to the next plan every `period`
 * microseconds.
 */
export function planned(ledgers, clock, period = Infinity) {
  return {
    run(command) {
      const plan = Number(command.keys[0].slice(prefix.length)) + Math.floor((clock() - start) / period)
      return ledgers[plan % ledgers.length].run(command)
    },
  }
}

/**
 * @param {Load} load
 * @param {(clock: () => number, capacity: number) => { run: Function }} open opens a ledger on a new store
 * @param {(key: number) => number} limitOf the limit a minute of a key's tightest policy
 */
export function overload(load, open, limitOf) {
  let now = start
  const clock = () => now
  const [store, due, admittedOnly] = [load.capacity, load.live, load.live].map((capacity) => open(clock, capacity))
  const admitted = new Uint32Array(load.live)
  const allowed = new Uint32Array(load.live)
  const counted = { calls: 0, wellBehaved: 0, wronglyRefused: 0, wronglyAdmitted: 0 }
  for (const call of calls(load, limitOf)) {
    const key = call % load.live
    const keys = [`${prefix}${key}`]
    now = start + (call - key) / load.live
    const well = !isAbusive(key, load)
    const answer = store.run({ verb: 'consume', keys }).allowed
    if (due.run({ verb: 'consume', keys }).allowed) allowed[key]++
    const right = admittedOnly.run({ verb: answer ? 'consume' : 'peek', keys }).allowed
    counted.calls++
    if (well) counted.wellBehaved++
    if (answer) admitted[key]++
    if (answer && !right) {
      counted.wronglyAdmitted++
      admittedOnly.run({ verb: 'charge', keys })
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
