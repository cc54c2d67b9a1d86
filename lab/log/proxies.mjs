/* The access logs that Envoy and HAProxy write unless they are told another format. */
import { request } from './common-log.mjs'
import { parseTime } from './time.mjs'

const quoted = /"((?:[^"\\]|\\.)*)"/g
const envoyLine = /^\[(\d{4}-\d\d-\d\dT[^\]]+)\] "(\S+) (.*?) \S+" (\d+) (.*)$/

/** Envoy, also in a mesh of Istio. The client is X-Forwarded-For if the request had it, else the other end of the connection. */
export const envoy = {
  name: 'envoy',
  detect: (line) => envoyLine.test(line),
  parser: () => parseEnvoy,
}

function parseEnvoy(line) {
  const match = envoyLine.exec(line)
  if (match === null) return undefined
  const [, stamp, method, path, status, rest] = match
  const time = parseTime(stamp)
  const texts = Array.from(rest.matchAll(quoted), ([, text]) => text)
  if (time === undefined || texts.length < 5) return undefined
  const [forwarded, agent, , host] = texts.slice(-5)
  const remote = rest
    .slice(rest.lastIndexOf('"') + 1)
    .trim()
    .split(' ')[3] // written by Istio alone
  const address = forwarded === '-' ? remote?.replace(/:\d+$/, '') : forwarded.split(',')[0]
  return { time, address, forwarded, host, agent, ...request(method, path), status }
}

const haproxyLine =
  /(?:^| )haproxy\[\d+\]: (\S+):\d+ \[([^\]]+)\] \S+ \S+ [-+\d]+(?:\/[-+\d]+){4} (-?\d+) .*"(?:<BADREQ>|(\S+) (\S+)[^"]*)"/

/** HAProxy with `option httplog`. Its times have no zone: the lab takes them as UTC. */
export const haproxy = {
  name: 'haproxy',
  detect: (line) => haproxyLine.test(line),
  parser: () => parseHaproxy,
}

function parseHaproxy(line) {
  const match = haproxyLine.exec(line)
  if (match === null) return undefined
  const [, address, stamp, status, method = '', path = ''] = match
  const time = parseTime(stamp)
  return time === undefined ? undefined : { time, address, ...request(method, path), status }
}
