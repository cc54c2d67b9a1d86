/*
 * The keys of the calls, made beforehand, so a measured loop only reads from arrays. The same seed gives the same calls.
 */

/** Marsaglia's xorshift32: 0 <= x < 1, the same in every run. */
export function random(seed) {
  let x = seed
  return () => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return (x >>> 0) / 2 ** 32
  }
}

/**
 * The text of the n-th IPv4 address. Addresses are scattered, so neighbours share no prefix. The text is made from a buffer,
 * so the string is flat, like that of a socket's remoteAddress, and not a tree of pieces.
 */
export function address(n) {
  const bits = Math.imul(n, 2654435761) >>> 0
  const text = `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`
  return Buffer.from(text, 'latin1').toString('latin1')
}

export function addresses(count) {
  return Array.from({ length: count }, (_, n) => address(n))
}

/** `calls` keys (a power of two) in the order of the calls. All keys are equally likely. */
export function uniform(keys, calls, seed = 7) {
  const next = random(seed)
  return Array.from({ length: calls }, () => keys[Math.floor(next() * keys.length)])
}

/**
 * The same by Zipf's law with exponent 1, like real traffic: the n-th most frequent key comes 1/n as often as the first.
 * Found by binary search in the running sums.
 */
export function zipf(keys, calls, seed = 7) {
  const sums = new Float64Array(keys.length)
  let sum = 0
  for (let n = 0; n < keys.length; n++) sums[n] = sum += 1 / (n + 1)
  const next = random(seed)
  return Array.from({ length: calls }, () => {
    const target = next() * sum
    let low = 0
    let high = keys.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (sums[middle] >= target) high = middle
      else low = middle + 1
    }
    return keys[low]
  })
}

/** IPv6 addresses as flat strings, each from a different network. */
export function addresses6(count) {
  return Array.from({ length: count }, (_, n) => {
    const bits = Math.imul(n, 2654435761) >>> 0
    const text = `2001:db8:${(bits >>> 16).toString(16)}:${(bits & 0xffff).toString(16)}:3:4:5:6`
    return Buffer.from(text, 'latin1').toString('latin1')
  })
}
