import { expect, test } from 'vitest'
import { clientKey } from '../log/client-key.mjs'
import { LineParser } from '../log/parse-lines.mjs'

function last(lines, options) {
  const parser = new LineParser(options)
  return [lines]
    .flat()
    .map((line) => parser.record(line))
    .at(-1)
}

const at = Date.UTC(2026, 2, 5, 9, 8, 7)
const agent = 'Mozilla/5.0 "quoted" (X11)'
const request = { method: 'GET', route: 'GET /a b', status: '200' }

test.each([
  [
    'Common',
    '198.51.100.1 - ann [05/Mar/2026:09:08:07 +0000] "GET /a HTTP/1.1" 200 -',
    { user: 'ann', route: 'GET /a' },
  ],
  [
    'Combined',
    `198.51.100.1 - - [05/Mar/2026:10:08:07 +0100] "GET /a b?c=1 HTTP/1.1" 200 12 "-" "Mozilla/5.0 \\"quoted\\" (X11)"`,
    request,
  ],
  [
    'a virtual host in front',
    '[::1]:80 198.51.100.1 - ann lee [05/Mar/2026:09:08:07 +0000] "GET /a HTTP/1.1" 200 5',
    { host: '[::1]:80', user: 'ann lee' },
  ],
  [
    'X-Forwarded-For behind',
    '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/2.0" 200 5 "-" "curl/8" "203.0.113.9" 0.012',
    { forwarded: '203.0.113.9', agent: 'curl/8' },
  ],
  ['no request line', '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "-" 408 0 "-" "-"', { route: '-', status: '408' }],
  [
    'AWS ALB',
    'https 2026-03-05T09:08:09.000000Z app/my-lb/50dc 198.51.100.1:2817 10.0.0.1:80 0.001 0.002 0.000 200 200 34 366 "GET https://a.example:443/a?b=1 HTTP/2.0" "curl/8" ECDHE TLSv1.2 arn:aws:x "Root=1-5" "a.example" "-" 0 2026-03-05T09:08:07.000000Z "forward" "-" "-"',
    { route: 'GET /a', host: 'a.example', status: '200', agent: 'curl/8' },
  ],
  [
    'JSON',
    '{"ts":"2026-03-05T09:08:07Z","peer":{"ip":"198.51.100.1"},"status":200}',
    { status: '200' },
    { fields: { time: 'ts', address: 'peer.ip' } },
  ],
  [
    'Cloudflare',
    `{"ClientIP":"198.51.100.1","EdgeStartTimestamp":${at}000000,"EdgeResponseStatus":200,"ClientRequestMethod":"GET","ClientRequestURI":"/a?b"}`,
    { route: 'GET /a', status: '200' },
  ],
  [
    'pino, as Fastify writes it',
    `{"level":30,"time":${at},"pid":7,"hostname":"a","reqId":"req-1","req":{"method":"GET","url":"/a?b=1","host":"a.example","remoteAddress":"198.51.100.1","remotePort":4711},"msg":"incoming request"}`,
    { route: 'GET /a' },
  ],
  [
    'pino-http',
    `{"level":30,"time":${at},"pid":7,"hostname":"a","req":{"id":1,"method":"GET","url":"/a","headers":{"user-agent":"curl/8"},"remoteAddress":"198.51.100.1"},"res":{"statusCode":404},"msg":"request completed"}`,
    { route: 'GET /a', status: '404', agent: 'curl/8' },
  ],
  [
    'Caddy',
    '{"level":"info","ts":1772701687,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.9","client_ip":"198.51.100.1","method":"GET","host":"a.example","uri":"/a","headers":{"User-Agent":["curl/8"]}},"status":200}',
    { route: 'GET /a', status: '200', agent: 'curl/8' },
  ],
  [
    'Traefik as JSON',
    '{"ClientAddr":"198.51.100.1:4711","ClientHost":"198.51.100.1","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/a","StartUTC":"2026-03-05T09:08:07Z","request_User-Agent":"curl/8","time":"2026-03-05T09:08:09Z"}',
    { route: 'GET /a', status: '200', agent: 'curl/8' },
  ],
  [
    'Traefik as text',
    '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8" 12 "web@docker" "http://10.0.0.2:80" 1ms',
    { route: 'GET /a', agent: 'curl/8' },
  ],
  [
    'Envoy as text',
    '[2026-03-05T09:08:07.000Z] "GET /a?b HTTP/2" 200 - 0 226 100 99 "198.51.100.1,10.0.0.1" "curl/8" "cc21d9b0" "a.example" "10.0.2.1:80"',
    { route: 'GET /a', status: '200', host: 'a.example', agent: 'curl/8' },
  ],
  [
    'Envoy in Istio, without X-Forwarded-For',
    '[2026-03-05T09:08:07.000Z] "GET /a HTTP/1.1" 200 - via_upstream - "-" 0 5 1 1 "-" "curl/8" "cc21d9b0" "a.example" "10.44.1.27:80" outbound|80||b 10.44.1.23:37652 10.0.45.184:80 198.51.100.1:46520 - default',
    { route: 'GET /a', status: '200', agent: 'curl/8' },
  ],
  [
    'Envoy as JSON',
    '{"start_time":"2026-03-05T09:08:07.000Z","method":"GET","path":"/a","response_code":200,"downstream_remote_address":"198.51.100.1:4711","user_agent":"curl/8"}',
    { route: 'GET /a', status: '200', agent: 'curl/8' },
  ],
  [
    'HAProxy',
    'Mar  5 09:08:09 lb haproxy[14389]: 198.51.100.1:33317 [05/Mar/2026:09:08:07.000] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /a?b HTTP/1.1"',
    { route: 'GET /a', status: '200' },
  ],
  [
    'Google Cloud',
    '{"httpRequest":{"remoteIp":"198.51.100.1","requestMethod":"GET","requestUrl":"https://a.example/a?b","status":200,"userAgent":"curl/8"},"timestamp":"2026-03-05T09:08:07Z"}',
    { route: 'GET /a', status: '200', agent: 'curl/8' },
  ],
])('a line with %s', (_name, line, expected, options) => {
  expect(last(line, options)).toMatchObject({ time: at, address: '198.51.100.1', ...expected })
})

test('a line of CloudFront, with its fields named in the log', () => {
  const fields = [
    'date',
    'time',
    'x-edge-location',
    'c-ip',
    'cs-method',
    'cs(Host)',
    'cs-uri-stem',
    'sc-status',
    'cs(User-Agent)',
  ]
  const values = [
    '2026-03-05',
    '09:08:07',
    'FRA2-C1',
    '2001:db8::1',
    'GET',
    'd1.example',
    '/a',
    '304',
    'Mozilla/5.0%20(X11)',
  ]
  const record = last(['#Version: 1.0', `#Fields: ${fields.join(' ')}`, values.join('\t')])
  expect(record).toMatchObject({
    time: at,
    address: '2001:db8::1',
    route: 'GET /a',
    status: '304',
    agent: 'Mozilla/5.0 (X11)',
  })
})

test('a log may have lines of several formats', () => {
  const parser = new LineParser()
  const lines = [
    '{"level":30,"time":1772701687000,"pid":7,"hostname":"a","msg":"Server listening at http://127.0.0.1:3000"}',
    '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12',
    `{"level":30,"time":${at},"pid":7,"hostname":"a","req":{"method":"GET","url":"/","remoteAddress":"198.51.100.2"},"msg":"incoming request"}`,
    `{"level":30,"time":${at},"pid":7,"hostname":"a","res":{"statusCode":200},"responseTime":1,"msg":"request completed"}`,
    '#Fields: date time c-ip cs-method cs-uri-stem sc-status',
    '2026-03-05 09:08:07 198.51.100.3 GET / 200',
    '198.51.100.4 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12',
    '2026-03-05 09:08:07 198.51.100.5 GET / 200',
  ]
  const addresses = lines.flatMap((line) => parser.record(line)?.address ?? [])
  expect(addresses).toEqual([1, 2, 3, 4, 5].map((n) => `198.51.100.${n}`))
  expect([parser.bad, parser.formats]).toEqual([0, ['common', 'json', 'w3c']])
})

test('the agent may contain quotes', () => {
  const line = `198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12 "-" "${agent.replaceAll('"', '\\"')}"`
  expect(last(line).agent).toBe(agent.replaceAll('"', '\\"'))
})

test.each([1772701687, 1772701687.25, 1772701687250, 1772701687250001, '1772701687.250', '2026-03-05T09:08:07.25Z'])(
  'the time %s',
  (ts) => {
    const { time } = last(JSON.stringify({ ts, ip: 'a' }))
    expect(Math.floor(time / 1000)).toBe(1772701687)
  },
)

test('bad lines are counted, and the first ones are kept', () => {
  const parser = new LineParser()
  const good = '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12'
  const lines = [
    'rubbish',
    good,
    '',
    '198.51.100.1 - - [99/Xyz/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12',
    '{"x":1}',
    '\0',
  ]
  const records = lines.map((line) => parser.record(line)).filter((record) => record !== undefined)
  expect([records.length, parser.lines, parser.bad, parser.formats]).toEqual([1, 6, 4, ['common']])
  expect(parser.badLines[0]).toEqual({ line: 1, text: 'rubbish' })
})

test.each(['32/Jan', '00/Jan', '30/Feb'])('a day that its month does not have, such as %s, makes a bad line', (day) => {
  expect(last(`198.51.100.1 - - [${day}/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12`)).toBeUndefined()
})

test('a byte order mark in front of a file changes nothing', () => {
  const lines = [
    '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12',
    '{"time":"2026-03-05T09:08:07Z","address":"198.51.100.1"}',
  ]
  for (const line of lines) expect(last(`\uFEFF${line}`)).toEqual(last(line))
})

test('a client is an address by its prefix, a field, or several fields', () => {
  const record = { address: '2001:db8:0:1ff::9', agent: 'curl', user: '-' }
  expect(clientKey('address')(record)).toBe('2001:db8:0:100::/56')
  expect(clientKey('address', 64)(record)).toBe('2001:db8:0:1ff::/64')
  expect(clientKey('agent+address', 128)(record)).toBe('curl | 2001:db8:0:1ff:0:0:0:9')
  expect(clientKey('user')(record)).toBeUndefined()
})
