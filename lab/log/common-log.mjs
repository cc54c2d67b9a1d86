/*
 * The Common and Combined Log Format of Apache and nginx. A virtual host may stand in front (`vhost_combined`), and
 * X-Forwarded-For behind (nginx's `main`). Whatever else follows is ignored.
 */
import { parseTime } from './time.mjs'

const quoted = '"((?:[^"\\\\]|\\\\.)*)"'
const form = new RegExp(
  `^(\\S+) (\\S+) (.+?) \\[([^\\]]+)\\] ${quoted} (\\d{3}) (\\d+|-)(?: ${quoted} ${quoted}(?: ${quoted})?)?`,
)

export const commonLog = {
  name: 'common',
  detect: (line) => form.test(line),
  parser: () => parse,
}

function parse(line) {
  const match = form.exec(line)
  if (match === null) return undefined
  const [, first, second, rest, stamp, request, status, bytes, referer, agent, forwarded] = match
  const time = parseTime(stamp)
  if (time === undefined) return undefined
  const behindHost = second !== '-' && /^[\d.]+$|:/.test(second)
  const [address, host] = behindHost ? [second, first] : [first, undefined]
  const user = behindHost ? rest.slice(rest.indexOf(' ') + 1) : rest
  return { time, address, host, user, ...requestLine(request), status, bytes, referer, agent, forwarded }
}

/** Method, path and route of `GET /search?q=1 HTTP/1.1`. The route leaves out the query. */
function requestLine(text) {
  const first = text.indexOf(' ')
  if (first < 0) return { method: undefined, path: text, route: text }
  const last = text.lastIndexOf(' ')
  return request(text.slice(0, first), last > first ? text.slice(first + 1, last) : text.slice(first + 1))
}

export function request(method, path) {
  const query = path.indexOf('?')
  return { method, path, route: `${method} ${query < 0 ? path : path.slice(0, query)}` }
}
