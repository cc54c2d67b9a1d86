/** In milliseconds. */
const every = 2

/**
 * Measures how long a busy machine does not run this process: a timer is due every 2 ms, and its delays add up. The
 * difference of two results of `lag()` is the time between them that the process did not have.
 */
export function watchLag(): { lag: () => number; stop: () => void } {
  let total = 0
  let due = performance.now() + every
  const tick = () => {
    const now = performance.now()
    total += Math.max(0, now - due)
    due = now + every
    timer = setTimeout(tick, every)
  }
  let timer = setTimeout(tick, every)
  return {
    lag: () => total + Math.max(0, performance.now() - due),
    stop: () => clearTimeout(timer),
  }
}
