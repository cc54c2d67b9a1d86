import { median } from './statistics.mjs'

/** The least CPU time of each warm-up and of one batch, in milliseconds. A busy machine does not shorten them. */
const warmUp = 400
const batch = 60
const batches = 7

/**
 * Measures a loop that makes `n` calls and returns how many were admitted, also as a promise: wall and CPU nanoseconds for
 * each call. CPU time is that of the whole process, with the threads of the garbage collector and the compiler.
 * @param admits true if every call must be admitted, false if every call must be refused
 */
export async function timed(loop, admits = true) {
  const { run, warm } = batchesOf(loop, admits)
  await warm()
  globalThis.gc?.()
  // A full collection throws away optimised code if no object of its kind is alive, as between requests.
  await warm()
  const all = []
  for (let done = 0; done < batches; done++) all.push(await run())
  return { ns: median(all.map(({ ns }) => ns)), cpuNs: median(all.map(({ cpuNs }) => cpuNs)) }
}

/**
 * Measures what a feature adds to a call. Batches without it and with it alternate in one process, because two processes differ by
 * more than a feature that costs little. The least batch of each counts: what a machine does besides only makes one longer.
 * `without` and `withIt` are loops as above. They are called with a batch of calls at a time.
 */
export async function timedDifference(without, withIt) {
  const sides = [without, withIt].map((loop) => batchesOf(loop, true))
  for (let turn = 0; turn < 4; turn++) for (const { warm } of sides) await warm()
  globalThis.gc?.()
  for (const { warm } of sides) await warm()
  const least = [Infinity, Infinity]
  for (let done = 0; done < 3 * batches; done++) {
    for (const [n, { run }] of sides.entries()) least[n] = Math.min(least[n], (await run()).cpuNs)
  }
  const [withoutNs, cpuNs] = least
  return { cpuNsAdded: cpuNs - withoutNs, times: cpuNs / withoutNs, withoutNs, cpuNs }
}

/** `run` makes one batch of calls, and returns the nanoseconds of a call. `warm` finds how many calls make a batch. */
function batchesOf(loop, admits) {
  let n = 256
  const run = async () => {
    const cpu = process.cpuUsage()
    const start = performance.now()
    const admitted = await loop(n)
    const wall = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    if (admitted !== (admits ? n : 0))
      throw new Error(`admitted ${admitted} of ${n}, expected ${admits ? 'all' : 'none'}`)
    return { ns: (wall * 1e6) / n, cpuNs: ((user + system) * 1000) / n }
  }
  const warm = async () => {
    for (let spent = 0; spent < warmUp; ) {
      const cpu = ((await run()).cpuNs * n) / 1e6
      spent += cpu
      if (cpu < batch) n = Math.ceil(n * Math.min(4, Math.max(1.1, (1.2 * batch) / cpu)))
    }
  }
  return { run, warm }
}

/** A loop over keys made beforehand. Their number is a power of two, so a mask finds the next one. */
export function syncLoop(order, admits) {
  const mask = order.length - 1
  return (n) => {
    let admitted = 0
    for (let i = 0; i < n; i++) if (admits(order[i & mask])) admitted++
    return admitted
  }
}

/** The same for targets that return a promise. Each is awaited, as a request would do. */
export function asyncLoop(order, ask, admits) {
  const mask = order.length - 1
  return async (n) => {
    let admitted = 0
    for (let i = 0; i < n; i++) if (admits(await ask(order[i & mask]))) admitted++
    return admitted
  }
}

/** The same for targets that reject to refuse. */
export function rejectingLoop(order, ask, read) {
  const mask = order.length - 1
  return async (n) => {
    let admitted = 0
    for (let i = 0; i < n; i++) {
      try {
        read(await ask(order[i & mask]))
        admitted++
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal
        read(refusal)
      }
    }
    return admitted
  }
}

/** Results go here, so the compiler cannot leave out their computation. */
export const sink = { total: 0 }
