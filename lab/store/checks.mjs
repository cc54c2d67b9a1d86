/* The parts that the checks of Redis and Postgres share. A check is { status, what, found, fix }. */

export const ok = (what, found) => ({ status: 'ok', what, found })
export const warning = (what, found, fix) => ({ status: 'warning', what, found, fix })
export const problem = (what, found, fix) => ({ status: 'problem', what, found, fix })

const probes = 5

/** Compares the clocks of a server and of this machine. @param read returns the server's time in milliseconds */
export async function clockCheck(read, fix) {
  let best = { trip: Infinity, skew: 0 }
  for (let n = 0; n < probes; n++) {
    const [before, began] = [Date.now(), performance.now()]
    const theirs = await read()
    const trip = performance.now() - began
    if (trip < best.trip) best = { trip, skew: theirs - (before + trip / 2) }
  }
  const { trip, skew } = best
  const size = Math.abs(skew)
  const side = skew < 0 ? 'behind' : 'ahead of'
  const found = `${size.toFixed(1)} ms ${side} this machine, give or take ${(trip / 2).toFixed(1)} ms`
  return size - trip / 2 > 1000 ? warning('clock', found, fix) : ok('clock', found)
}

/**
 * Checks the records under the prefix: how many there are, and whether each can be read.
 * @param {(stored: any) => void} each
 */
export async function recordsCheck(inspector, each = () => {}) {
  let [records, bytes, foreign, example] = [0, 0, 0, undefined]
  for await (const stored of inspector.list()) {
    records++
    bytes += stored.bytes
    if (stored.inspection === undefined) {
      foreign++
      example ??= stored.storeKey
    }
    each(stored)
  }
  const found = `${records} keys, ${bytes} bytes`
  if (foreign === 0) return { records, check: ok('layout', `${found}, all in the layout of this version`) }
  const fix = 'Give each program a prefix of its own, run one version of headgate, or delete these keys with reset.'
  return { records, check: problem('layout', `${found}; ${foreign} cannot be read, such as ${example}`, fix) }
}
