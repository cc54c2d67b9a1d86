/*
 * One JSON object a line: pino (Fastify's own log), Caddy, Traefik, Envoy, Google Cloud, Cloudflare's Logpush, and others alike. A field map
 * says what each JSON field means.
 */
import { request } from './common-log.mjs'
import { parseTime } from './time.mjs'

/** The JSON fields that are tried for each meaning, unless the field map names a field. */
const usual = {
  time: [
    'EdgeStartTimestamp',
    'StartUTC',
    'start_time',
    'time',
    'timestamp',
    '@timestamp',
    'ts',
    'time_iso8601',
    'msec',
    'httpRequest.time',
  ],
  address: [
    'ClientIP',
    'ClientHost',
    'remote_addr',
    'remoteAddr',
    'client_ip',
    'clientIp',
    'remote_ip',
    'request.client_ip',
    'request.remote_ip',
    'req.remoteAddress',
    'httpRequest.remoteIp',
    'x_forwarded_for',
    'downstream_remote_address',
    'ip',
    'address',
    'client',
  ],
  status: [
    'EdgeResponseStatus',
    'DownstreamStatus',
    'response_code',
    'status',
    'statusCode',
    'status_code',
    'res.statusCode',
    'httpRequest.status',
  ],
  method: [
    'ClientRequestMethod',
    'RequestMethod',
    'method',
    'request_method',
    'request.method',
    'req.method',
    'httpRequest.requestMethod',
  ],
  path: [
    'ClientRequestURI',
    'RequestPath',
    'path',
    'request_uri',
    'uri',
    'url',
    'request.uri',
    'req.url',
    'httpRequest.requestUrl',
  ],
  agent: [
    'ClientRequestUserAgent',
    'request_User-Agent',
    'http_user_agent',
    'user_agent',
    'userAgent',
    'agent',
    'request.headers.User-Agent',
    'req.headers.user-agent',
    'httpRequest.userAgent',
  ],
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
  const record = objectOf(line)
  if (record === undefined) return undefined
  if (isMessageOfPino(record)) return null
  const time = parseTime(find(record, 'time'))
  if (time === undefined) return undefined
  const known = Object.fromEntries([...meanings, ...mapped].map((meaning) => [meaning, text(find(record, meaning))]))
  const { method = '', path = '' } = known
  return { ...record, ...known, time, address: withoutPort(known.address), ...request(method, withoutOrigin(path)) }
}

function objectOf(line) {
  try {
    const record = JSON.parse(line)
    return typeof record === 'object' && record !== null ? record : undefined
  } catch {
    return undefined
  }
}

/** A line of pino about something else than a request, such as a start, or the second line of Fastify about the same request. */
function isMessageOfPino({ level, pid, msg, req }) {
  return typeof level === 'number' && typeof pid === 'number' && typeof msg === 'string' && req === undefined
}

/** `198.51.100.1:4711` and `[2001:db8::1]:4711` without the port. */
function withoutPort(address) {
  return address?.replace(/^(?:\[(.+)\]|([\d.]+)):\d+$/, '$1$2')
}

function withoutOrigin(url) {
  return url.replace(/^https?:\/\/[^/]*/, '')
}

/** A field by its name, else by its path: `req.headers.host`. */
export function at(record, name) {
  if (Object.hasOwn(record, name)) return record[name]
  if (!name.includes('.')) return undefined
  let value = record
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

/** The paths of the fields of a JSON line, such as `req.headers.host`. No path for a line of another format. */
export function pathsOf(line) {
  const record = jsonLines.detect(line) ? objectOf(line) : undefined
  return record === undefined ? [] : pathsIn(record, '')
}

function pathsIn(record, before) {
  return Object.entries(record).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? pathsIn(value, `${before}${name}.`)
      : [`${before}${name}`],
  )
}

/** The text of a field. A list becomes one text; an object has no text. */
export function text(value) {
  if (Array.isArray(value)) return value.filter((each) => typeof each !== 'object').join()
  return typeof value === 'object' || value === undefined ? undefined : String(value)
}
