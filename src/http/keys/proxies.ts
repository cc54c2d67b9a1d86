import { isIP } from 'node:net'
import { HeadgateError, shown } from '../../errors.ts'
import type { Framework } from '../framework.ts'
import { AddressList } from './address-list.ts'

/** How many proxies stand in front, or their addresses and CIDR ranges. */
export type TrustedProxies = number | readonly string[]

type Peers<Request> = Pick<Framework<Request, never>, 'peer' | 'header'>

/**
 * The client's address where X-Forwarded-For is believed as far as these proxies wrote it, by counting from the end: the
 * last entry was written by the proxy that we see, the one before by the proxy that this one saw.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function behind<Request>(
  trusted: TrustedProxies,
): (request: Request, view: Peers<Request>) => string | undefined {
  const isTrusted = trustOf(trusted)
  return (request, view) => {
    const peer = view.peer(request)
    const header = view.header(request, 'x-forwarded-for')
    if (peer === undefined || header === undefined) return peer
    const forwarded = header.split(',')
    let client = peer
    for (let hop = 0; hop < forwarded.length && isTrusted(client, hop); hop++) {
      const before = (forwarded[forwarded.length - 1 - hop] as string).trim()
      if (isIP(before.replace(/%.*$/, '')) === 0 && !looksLikePort(before)) return client
      client = before
    }
    return client
  }
}

/** `192.0.2.1:1234` and `[2001:db8::1]:1234`, which some proxies write. */
function looksLikePort(text: string): boolean {
  const match = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text)
  return match !== null && isIP((match[1] ?? match[2]) as string) !== 0
}

function trustOf(trusted: TrustedProxies): (address: string, hop: number) => boolean {
  if (Array.isArray(trusted)) {
    const list = new AddressList(trusted, 'trustedProxies')
    return (address) => list.has(address)
  }
  if (Number.isSafeInteger(trusted) && (trusted as number) >= 1) return (_address, hop) => hop < (trusted as number)
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `trustedProxies must be the number of proxies in front or a list of their addresses and ranges, got ${shown(trusted)}. ` +
      `Write trustedProxies: 1 or trustedProxies: ['10.0.0.0/8'].`,
  )
}
