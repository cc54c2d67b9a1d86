import { isIPv6 } from 'node:net'
import { dotted, isIPv4, isUnixSocket, type LocalSocket, parseAddress } from '../../src/http/keys/index.ts'

/**
 * The first address of an IPv6 address's network, in the canonical form (RFC 5952). If the text is an IPv4 address inside IPv6, the result
 * is the IPv4 address. Undefined if the text is no IPv6 address.
 * @param bits the length of the network's prefix in bits, 0 to 128
 */
export function networkOf(
  ip: string,
  bits: number,
): { readonly address: string; readonly isIPv4: boolean } | undefined {
  const groups = isIPv6(ip) ? parseAddress(ip) : undefined
  if (groups === undefined) return undefined
  if (isIPv4(groups)) return { address: dotted(groups), isIPv4: true }
  const masked = groups.map((group, n) => {
    const kept = Math.min(16, Math.max(0, bits - 16 * n))
    return (group & (0xffff << (16 - kept)) & 0xffff).toString(16)
  })
  // `URL` converts an IPv6 address to its canonical form.
  return { address: new URL(`http://[${masked.join(':')}]`).hostname.slice(1, -1), isIPv4: false }
}

/**
 * True if the socket has no address any more, because the client has disconnected. False for a unix socket, which never has
 * an address.
 */
export function hasLeft({ socket }: { readonly socket?: LocalSocket | null }): boolean {
  return Boolean(socket && socket.remoteAddress === undefined && !isUnixSocket(socket))
}
