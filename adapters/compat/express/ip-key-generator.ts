import { isIPv6 } from 'node:net'
import type { Request, Response } from 'express'
import { AddressKeys } from '../../../src/http/keys/index.ts'
import { networkOf } from '../network.ts'
import type { Config } from './validations.ts'

/**
 * The key of an IP address. For IPv4, the key is the address. For IPv6, the key is the address's network, such as `2001:db8::/56`. The
 * obsolete form `::192.0.2.1` counts as the IPv4 address 192.0.2.1.
 * @param ipv6Subnet the length of the network's prefix in bits; false, or another value that is no positive number, for the complete address
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  const bits = Number(ipv6Subnet) > 0 ? ipv6Subnet : false
  const network = networkOf(ip, bits === false ? 128 : bits)
  if (network === undefined) return ip
  const compatible = /^[0:]+:((?:\d+\.){3}\d+)$/.exec(ip)
  if (compatible?.[1] !== undefined) return compatible[1]
  if (network.isIPv4) return network.address
  return bits === false ? ip : `${network.address}/${bits}`
}

/** A cache of the keys of addresses, for the default prefix of 56 bits. */
const usualKeys = new AddressKeys((ip) => ipKeyGenerator(ip))

function addressKey(ip: string, subnet: number | false): string {
  return subnet !== 56 || ip === undefined ? ipKeyGenerator(ip, subnet) : usualKeys.of(ip)
}

export function keyByAddress(
  { ipv6Subnet, validations }: Config,
  request: Request,
  response: Response,
): string | Promise<string> {
  validations.address(request)
  const ip = request.ip as string
  if (typeof ipv6Subnet !== 'function') return addressKey(ip, ipv6Subnet)
  if (!isIPv6(ip)) return ip
  return Promise.resolve(ipv6Subnet(request, response)).then((bits) => {
    validations.subnet(bits)
    return addressKey(ip, bits)
  })
}
