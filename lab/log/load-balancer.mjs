/* The access log of an AWS Application Load Balancer: fields between spaces, some of them in quotes. */
import { request } from './common-log.mjs'
import { parseTime } from './time.mjs'

const field = /"((?:[^"\\]|\\.)*)"|(\S+)/g

export const loadBalancer = {
  name: 'alb',
  detect: (line) => /^(https?|h2|grpcs|wss?) \d{4}-\d\d-\d\dT\S+ \S+ \S+:\d+ /.test(line),
  parser: () => parse,
}

function parse(line) {
  const fields = Array.from(line.matchAll(field), ([, inQuotes, plain]) => inQuotes ?? plain)
  const [, written, balancer, client = '', , , , , status, , , bytes, text = '', agent] = fields
  const time = parseTime(fields[21]) ?? parseTime(written) // when the request came, else when the line was written
  const port = client.lastIndexOf(':')
  if (time === undefined || port < 0 || text === '') return undefined
  const [method = '', url = ''] = text.split(' ')
  const path = url.replace(/^\w+:\/\/[^/]*/, '')
  return {
    time,
    address: client.slice(0, port),
    host: fields[18],
    balancer,
    ...request(method, path),
    status,
    bytes,
    agent,
  }
}
