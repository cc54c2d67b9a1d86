import { median } from './statistics.mjs'

/** How much CPU time each of the two warm-ups and one batch take at least, in milliseconds: a busy machine does not shorten them. */
const warmUp = 400
const batch = 60
const batches = 7

/**
 * Wall and CPU nanoseconds a call of a loop that makes `n` calls and returns (a promise of) how many were admitted.
 * CPU time is that of the whole process, the threads of the garbage collector and the compiler with it.
 * @param admits whether every call has to be admitted, or every call refused
 */
export async function timed(loop, admits = true) {
  const run = async (n) => {
    const cpu = process.cpuUsage()
    const start = performance.now()
    const admitted = await loop(n)
    const wall = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    if (admitted !== (admits ? n : 0)) throw new Error(`admitted ${admitted} of ${n}, all ought to be ${admits}`)
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
  // A full collection throws away optimised code whose kinds of objects are not alive at the moment, as between requests.
  await warm()
  const all = []
  for (let done = 0; done < batches; done++) all.push(await run(n))
  const nanoseconds = (name) => (median(all.map((each) => each[name])) / n) * 1e6
  return { ns: nanoseconds('wall'), cpuNs: nanoseconds('cpu') }
}

/** A loop over keys made beforehand; a power of two of them, so that the next one costs a mask. */
export function syncLoop(order, admits) {
  const mask = order.length - 1
  return (n) => {
    let admitted = 0
    for (let i = 0; i < n; i++) if (admits(order[i & mask])) admitted++
    return admitted
  }
}

/** The same for what answers with a promise: each is awaited, as a request would. */
export function asyncLoop(order, ask, admits) {
  const mask = order.length - 1
  return async (n) => {
    let admitted = 0
    for (let i = 0; i < n; i++) if (admits(await ask(order[i & mask]))) admitted++
    return admitted
  }
}

/** And for what rejects to refuse. */
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

/** Numbers that were answered go here, so that no compiler leaves out what makes them. */
export const sink = { total: 0 }
