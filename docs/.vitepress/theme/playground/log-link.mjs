/*
 * A small log in the fragment of an address: the times and the numbers of the clients, no address and no path. A browser sends no
 * fragment to a server.
 */

/** More requests make an address too long for chats and mails. */
export const mostInLink = 5000

/** @param {{ start: number, requests: { time: number, client: number }[] }} log */
export async function linkOf({ start, requests }) {
  const kept = requests.slice(0, mostInLink)
  const numbers = kept.flatMap(({ time, client }, n) => [Math.round(time) - Math.round(kept[n - 1]?.time ?? 0), client])
  return base64(
    await through(new CompressionStream('deflate-raw'), new TextEncoder().encode([start, ...numbers].join())),
  )
}

/** The log of a fragment; undefined if it holds none. */
export async function logOf(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0))
    const plain = await through(new DecompressionStream('deflate-raw'), bytes)
    const [start, ...numbers] = new TextDecoder().decode(plain).split(',').map(Number)
    if (numbers.length === 0 || ![start, ...numbers].every(Number.isSafeInteger)) return undefined
    return { start, requests: requestsOf(numbers.slice(0, 2 * mostInLink)) }
  } catch {
    return undefined
  }
}

function requestsOf(numbers) {
  const requests = []
  let time = 0
  for (let n = 0; n + 1 < numbers.length; n += 2) {
    time += Math.max(0, numbers[n])
    requests.push({ time, client: numbers[n + 1] })
  }
  return requests
}

async function through(transform, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer())
}

function base64(bytes) {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
