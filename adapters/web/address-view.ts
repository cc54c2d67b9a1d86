import type { Framework } from '../../src/http/index.ts'
import { clientBehind, isUnixSocket, type TrustedProxies, toldAddress } from '../../src/http/keys/index.ts'
import type { NodePair } from '../node-pair.ts'

/** The functions that find addresses where the framework has no proxy setting of its own. */
export type Finder<Request> = Required<Pick<Framework<Request, never>, 'peer' | 'header' | 'unaddressed'>>

/** The parts of a framework that tell the client's address. */
type AddressView<Request> = Finder<Request> & Pick<Framework<Request, never>, 'address' | 'trustsProxy'>

/**
 * The client's address behind the trusted proxies, by the address of the peer.
 * @throws HeadgateError `HEADGATE_OPTION` if the proxies are invalid
 */
export function addressView<Request>(
  trustedProxies: TrustedProxies | undefined,
  finder: Finder<Request>,
): AddressView<Request> {
  if (trustedProxies === undefined) {
    const address = (request: Request) => finder.peer(request) ?? undefined
    return { ...finder, address, trustsProxy: () => false }
  }
  const client = clientBehind(trustedProxies)
  return { ...finder, address: (request) => client(request, finder), trustsProxy: () => true }
}

/**
 * A finder whose peer comes from a function of the application. A text that is no address counts as no address, also
 * over a unix socket. Clients of a unix socket share one limit only if the function returns nothing.
 * @param tell returns the address, undefined or null
 * @param option the name of the function
 */
export function toldFinder<Request>(
  finder: Omit<Finder<Request>, 'peer'>,
  tell: (request: Request) => unknown,
  option: string,
): Finder<Request> {
  return {
    ...finder,
    peer: (request) => toldAddress(tell(request), option),
    unaddressed: (request) => ((tell(request) ?? undefined) === undefined ? finder.unaddressed(request) : false),
  }
}

/**
 * The header and the peer of a request, on a server of Node or on any other. Node has parsed the headers already, and a
 * server on Node would first copy all of them for `request.headers`. Only a server of Node shows its sockets.
 */
export function finderOver<Call>(
  pairOf: (call: Call) => Partial<NodePair> | undefined,
  requestOf: (call: Call) => Pick<Request, 'headers'>,
): Omit<Finder<Call>, 'peer'> {
  return {
    unaddressed(call) {
      const node = pairOf(call)?.req
      return node && isUnixSocket(node.socket)
    },
    header(call, name) {
      const parsed = pairOf(call)?.req?.headers
      return parsed === undefined ? (requestOf(call).headers.get(name) ?? undefined) : parsed[name]?.toString()
    },
  }
}
