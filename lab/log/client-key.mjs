import { addressKey } from 'headgate'
import { at, text } from './json-lines.mjs'

/**
 * A function that names the client of a record: by its address, another field, the path of a field, or several joined with `+`.
 * @param {string} text such as `address`, `user`, `req.headers.x-api-key` or `address+agent`
 * @param {number} ipv6Prefix how many leading bits of an IPv6 address name one client
 */
export function clientKey(text, ipv6Prefix = 56) {
  const parts = text.split('+').map((name) => partOf(name, ipv6Prefix))
  if (parts.length === 1) return parts[0]
  return (record) => {
    const values = parts.map((part) => part(record))
    return values.includes(undefined) ? undefined : values.join(' | ')
  }
}

function partOf(name, ipv6Prefix) {
  if (name === 'address' || name === 'forwarded') {
    return (record) => {
      const address = present(record[name])
      return address === undefined ? undefined : addressKey(address.split(',')[0], ipv6Prefix)
    }
  }
  return (record) => present(at(record, name))
}

/** A log writes `-` for a field without a value. */
function present(value) {
  const found = typeof value === 'string' ? value : text(value)
  return found === '-' || found === '' ? undefined : found
}
