const every = 2

/**
 * How long this process was kept from its work, so that waits can be told from a busy machine: a timer is due every 2 ms,
 * and what it comes later counts. `lag()` before and after something differ by what of the time between was not its own.
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
