import { type EndingResponse, hasLeft } from '../../src/http/held/index.ts'
import type { Framework } from '../../src/http/index.ts'
import {
  clientBehind,
  isIncomplete,
  isUnixSocket,
  type TrustedProxies,
  toldAddress,
} from '../../src/http/keys/index.ts'
import type { NodePair } from '../node-pair.ts'

/** For `Framework.left`: asks the response of node:http, or in other runtimes the signal of the request. */
export function clientHasLeft(node: EndingResponse | undefined, { signal }: Pick<Request, 'signal'>): boolean {
  return node === undefined ? signal?.aborted === true : hasLeft(node)
}

/** The functions that find addresses, for frameworks without their own proxy setting. */
export type Finder<Request> = Required<
  Pick<Framework<Request, never>, 'peer' | 'header' | 'unaddressed' | 'incomplete'>
>

/** The functions of a framework that find the client's address. */
type AddressView<Request> = Finder<Request> & Pick<Framework<Request, never>, 'address' | 'trustsProxy'>

/**
 * Functions that find the client's address. The functions start from the address of the peer (the nearest machine), and skip trusted
 * proxies.
 * @throws HeadgateError `HEADGATE_OPTION` if `trustedProxies` is invalid
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
 * A finder whose peer address comes from a function of the application. If the function returns a text that is no address, the
 * request counts as a request without an address, even over a unix socket. Clients of a unix socket share one limit only if the
 * function returns undefined or null.
 * @param tell returns the address, undefined or null
 * @param option the name of the function in the options, for error messages
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
 * Functions that read the headers and the kind of socket of a request, on Node or elsewhere. On Node, the functions read the headers
 * that Node has parsed, because `request.headers` would first copy all headers. The kind of socket is known only for servers of Node.
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
    incomplete: (call) => isIncomplete(pairOf(call)?.req ?? {}),
    header(call, name) {
      const parsed = pairOf(call)?.req?.headers
      return parsed === undefined ? (requestOf(call).headers.get(name) ?? undefined) : parsed[name]?.toString()
    },
  }
}
