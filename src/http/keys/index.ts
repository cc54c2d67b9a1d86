/*
 * Finds the key of a request, which says who is limited: by an address, a header field, a cookie, or a function of the user. This
 * folder imports `limiter`, and all that `limiter` imports.
 */

export { isIncomplete, isIPv4, isUnixSocket, type LocalSocket, parseAddress } from './address.ts'
export { AddressKeys, addressKey, dotted } from './address-key.ts'
export { AddressList } from './address-list.ts'
export { addressSource, checkAddressNeeds, withAddressOf } from './address-source.ts'
export { type ByIpOptions, byIp, watchedAddress } from './by-ip.ts'
export { combine } from './combine.ts'
export { extractKey, findKey, mayLackAddress } from './extract-key.ts'
export { byCookie, byHeader, byParam, byRoute, cookieIn, cookieOf } from './extractors.ts'
export { type Extracted, type FindKey, type KeyExtractor, type RequestView, tokenPattern } from './key-extractor.ts'
export { reportedAddress, toldAddress, warnOfNoAddress } from './no-address.ts'
export type { AddressPlatform } from './platforms.ts'
export { scopeExtractors } from './scope-extractors.ts'
export { clientBehind, type TrustedProxies, trustedProxiesOption } from './trusted-proxies.ts'
