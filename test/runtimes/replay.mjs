/*
 * Replays golden traces on the package, and tries what a runtime brings along: clock, randomness, hashes and timers.
 * This module runs in every runtime, so it imports nothing else.
 */
import {
  addressKey,
  fixedWindow,
  gcra,
  leakyBucket,
  memoryStore,
  RateLimiter,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from 'headgate'
import { Pacer } from 'headgate/pacer'
import { revive, sameDefinition } from 'headgate/store'
import { faultyStore, ManualClock, testStore } from 'headgate/testing'
import { tryFetchHandler } from './fetch-handler.mjs'

/** The policy of each oracle. A configuration without one here follows a rule that no policy promises. */
const policies = {
  'fixed-window': ({ limit, windowMs }) => fixedWindow({ limit, window: windowMs }),
  'full-refill': ({ capacity, intervalMs, boundary }) =>
    boundary === 'ge' ? fixedWindow({ limit: capacity, window: intervalMs, align: 'first-request' }) : undefined,
  'sliding-counter': ({ limit, windowMs, counts, rule }) =>
    rule === 'le' ? slidingWindow({ limit, window: windowMs, countRefused: counts === 'attempts' }) : undefined,
  'sliding-log': ({ limit, windowMs }) => slidingLog({ limit, window: windowMs }),
  'token-bucket': ({ capacity, refill, perMs }) => tokenBucket({ limit: refill, window: perMs, burst: capacity }),
  'leaky-bucket-meter': ({ capacity, leak, perMs }) => leakyBucket({ limit: leak, window: perMs, burst: capacity }),
  gcra: ({ burst, rate, perMs }) => gcra({ limit: rate, window: perMs, burst }),
}

/**
 * Replays every script and runs every other check.
 * @param scripts `{ config, operations }` of every trace
 * @param dispatch sends a request to this worker through the runtime, where it has no server
 * @returns how many results were compared, and a sentence for each that differs
 */
export async function replay(scripts, dispatch) {
  const outcome = { checked: 0, differences: [] }
  const check = (what, actual, expected) => {
    outcome.checked++
    const [got, wanted] = [actual, expected].map((value) => JSON.stringify(value, finite))
    if (got !== wanted) outcome.differences.push(`${what}: expected ${wanted}, got ${got}`)
  }
  for (const script of scripts) {
    if (script.config.limiter === undefined) replayOracle(script, check)
    else replayGuava(script, check)
  }
  await tryRuntime(check)
  await tryStoreContract(check)
  await tryFetchHandler(check, dispatch)
  return outcome
}

/** JSON has no Infinity. */
function finite(_name, value) {
  return value === Infinity ? 'Infinity' : value
}

function replayOracle({ config, operations }, check) {
  const policy = policies[config.algorithm](config)
  if (policy === undefined) return
  const clock = new ManualClock(0)
  const limiter = new RateLimiter({ policies: policy, store: memoryStore({ clock: clock.now }) })
  for (const { t, key, cost, allowed, remaining, retryAfterMs, resetAfterMs } of operations) {
    clock.set(t)
    const decision = limiter.consumeSync(key, { cost })
    check(
      `${config.id} at ${t}`,
      [decision.allowed, decision.remaining, decision.retryAfter, decision.resetAfter],
      [allowed, remaining, retryAfterMs ?? Infinity, resetAfterMs],
    )
  }
}

/** Up to the first change of a rate, and where the configuration has a meaning: the full replay is test/algorithms/guava.test.ts. */
function replayGuava({ config, operations }, check) {
  const { limiter, rate, maxBurstSeconds, warmupUs, coldFactor, startUs, sleepAdvances } = config
  // Guava takes rates that headgate refuses: above a permit in a microsecond.
  if (!(rate > 1e-6 && rate <= 1e6) || warmupUs === 0) return
  const policy =
    limiter === 'SmoothBursty'
      ? smoothBursty({ rate, maxBurst: maxBurstSeconds * 1000 })
      : smoothWarmingUp({ rate, warmup: warmupUs / 1000, coldFactor })
  let now = startUs
  const ledger = memoryStore({ clock: () => now }).open({ name: config.id, policies: [policy], scopes: ['default'] })
  ledger.run({ verb: 'charge', keys: ['key'], costs: 0 }) // Guava's limiter begins when it is made.
  for (const { op, n, us, timeoutUs, timeoutNs, throws, ok, waitUs } of operations) {
    if (op === 'setRate') return
    if (op === 'advance') now += us
    if (throws !== undefined || (op !== 'acquire' && op !== 'tryAcquire')) continue
    const timeout = timeoutNs === undefined ? Number(timeoutUs) : Math.trunc(timeoutNs / 1000)
    const booking = ledger.run({
      verb: 'reserve',
      keys: ['key'],
      costs: n,
      maxWait: op === 'acquire' ? Infinity : Math.max(0, timeout),
    })
    const granted = op === 'acquire' || ok === true
    const wait = granted ? Math.ceil(waitUs / 1000) : 0
    check(`${config.id} at ${now}`, [booking.decision.allowed, booking.wait], [granted, wait])
    if (granted && sleepAdvances) now += waitUs
  }
}

/** What the platform brings along, by its effects. */
async function tryRuntime(check) {
  const limiter = new RateLimiter({ policies: '2/1h' })
  const calls = ['a', 'a', 'a', 'b'].map((key) => limiter.consumeSync(key).allowed)
  check('a limiter by the clock of the runtime', calls, [true, true, false, true])

  const failing = faultyStore(memoryStore())
  failing.fail('hang')
  const open = new RateLimiter({ policies: '2/1h', store: failing, storeTimeout: 20, onStoreError: 'open' })
  check('a store that hangs is given up', (await open.consume('a')).source, 'open')

  const pacer = new Pacer(gcra({ limit: 100, window: '1s', burst: 1 }))
  const order = []
  await Promise.all([1, 2, 3].map((n) => pacer.throttle(() => order.push(n))))
  check('a pacer by the timers of the runtime', order, [1, 2, 3])

  const clock = new ManualClock()
  const naps = []
  clock.sleeper(50, () => void Promise.resolve().then(() => naps.push(clock.now())))
  await clock.pass('1s')
  check('a manual clock lets promises continue', naps.length, 1)

  check('the key of an IPv6 address', addressKey('2001:db8:0:0:1::1', 64), addressKey('2001:db8::2', 64))
  const [algorithm] = limiter.policies.map((policy) => policy.algorithm)
  check('a policy that is revived', sameDefinition(revive(JSON.parse(JSON.stringify(algorithm))), algorithm), true)
}

/** The contract of a store on the memory store: every verb, all algorithms, concurrency and hostile keys. */
async function tryStoreContract(check) {
  const cases = []
  const create = (clock) => memoryStore({ clock })
  testStore({ name: 'memory', create, test: (name, run) => cases.push({ name, run }) })
  for (const { name, run } of cases) {
    const failure = await run().then(
      () => 'passed',
      (error) => String(error?.stack),
    )
    check(name, failure, 'passed')
  }
}
