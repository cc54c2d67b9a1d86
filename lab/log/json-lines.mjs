/* One JSON object a line, such as Cloudflare's Logpush. A field map says what each JSON field means. */
import { request } from './common-log.mjs'
import { parseTime } from './time.mjs'

/** The JSON fields that are tried for each meaning, unless the field map names a field. */
const usual = {
  time: ['EdgeStartTimestamp', 'time', 'timestamp', '@timestamp', 'ts', 'time_iso8601', 'msec', 'httpRequest.time'],
  address: ['ClientIP', 'remote_addr', 'remoteAddr', 'client_ip', 'clientIp', 'remote_ip', 'ip', 'address', 'client'],
  status: ['EdgeResponseStatus', 'status', 'statusCode', 'status_code', 'res.statusCode'],
  method: ['ClientRequestMethod', 'method', 'request_method', 'req.method'],
  path: ['ClientRequestURI', 'path', 'request_uri', 'uri', 'url', 'req.url'],
  agent: ['ClientRequestUserAgent', 'http_user_agent', 'user_agent', 'userAgent', 'agent'],
}

const meanings = Object.keys(usual)

export const jsonLines = {
  name: 'json',
  detect: (line) => line.startsWith('{'),
  /** @param {Record<string, string>} map the JSON field for each meaning: `{ time: 'ts', address: 'peer.ip' }` */
  parser: (map = {}) => {
    const find = (record, meaning) => {
      if (map[meaning] !== undefined) return at(record, map[meaning])
      for (const name of usual[meaning] ?? [meaning]) {
        const value = at(record, name)
        if (value !== undefined) return value
      }
      return undefined
    }
    return (line) => parse(line, find, Object.keys(map))
  },
}

function parse(line, find, mapped) {
  let record
  try {
    record = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof record !== 'object' || record === null) return undefined
  const time = parseTime(find(record, 'time'))
  if (time === undefined) return undefined
  const known = Object.fromEntries([...meanings, ...mapped].map((meaning) => [meaning, text(find(record, meaning))]))
  return { ...record, ...known, time, ...request(known.method ?? '', known.path ?? '') }
}

/** A field by its name, else by its path: `req.headers.host`. */
function at(record, name) {
  if (Object.hasOwn(record, name)) return record[name]
  let value = record
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

/** The text of a field. A list becomes one text; an object has no text. */
export function text(value) {
  if (Array.isArray(value)) return value.filter((each) => typeof each !== 'object').join()
  return typeof value === 'object' || value === undefined ? undefined : String(value)
}
