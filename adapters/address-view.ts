import { clientBehind, type Framework, type TrustedProxies } from '../src/http/index.ts'

/** What finds addresses where the framework has no proxy setting of its own. */
type Finder<Request> = Required<Pick<Framework<Request, never>, 'peer' | 'header' | 'unaddressed'>>

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
    return { ...finder, address, trustsProxy: (request) => isForwarded(finder, request) }
  }
  const client = clientBehind(trustedProxies)
  return { ...finder, address: (request) => client(request, finder), trustsProxy: () => true }
}

/** True if a proxy has forwarded this address: what found it trusts that proxy. */
function isForwarded<Request>({ peer, header }: Finder<Request>, request: Request): boolean {
  const address = peer(request)
  const forwarded = header(request, 'x-forwarded-for')?.split(',') ?? []
  return forwarded.some((entry) => entry.trim() === address)
}
