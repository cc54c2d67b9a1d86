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
  const run = async (n) => {
    const cpu = process.cpuUsage()
    const start = performance.now()
    const admitted = await loop(n)
    const wall = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    if (admitted !== (admits ? n : 0))
      throw new Error(`admitted ${admitted} of ${n}, expected ${admits ? 'all' : 'none'}`)
    return { wall, cpu: (user + system) / 1000 }
  }
  let n = 256
  const warm = async () => {
    for (let spent = 0; spent < warmUp; ) {
      const { cpu } = await run(n)
      spent += cpu
      if (cpu < batch) n = Math.ceil(n * Math.min(4, Math.max(1.1, (1.2 * batch) / cpu)))
    }
  }
  await warm()
  globalThis.gc?.()
  // A full collection throws away optimised code if no object of its kind is alive, as between requests.
  await warm()
  const all = []
  for (let done = 0; done < batches; done++) all.push(await run(n))
  const nanoseconds = (name) => (median(all.map((each) => each[name])) / n) * 1e6
  return { ns: nanoseconds('wall'), cpuNs: nanoseconds('cpu') }
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
