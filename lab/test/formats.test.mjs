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
    '{"ts":1}',
    '\0',
  ]
  const records = lines.map((line) => parser.record(line)).filter((record) => record !== undefined)
  expect([records.length, parser.lines, parser.bad, parser.format]).toEqual([1, 6, 4, 'common'])
  expect(parser.badLines[0]).toEqual({ line: 1, text: 'rubbish' })
})

test('a client is an address by its prefix, a field, or several fields', () => {
  const record = { address: '2001:db8:0:1ff::9', agent: 'curl', user: '-' }
  expect(clientKey('address')(record)).toBe('2001:db8:0:100::/56')
  expect(clientKey('address', 64)(record)).toBe('2001:db8:0:1ff::/64')
  expect(clientKey('agent+address', 128)(record)).toBe('curl | 2001:db8:0:1ff:0:0:0:9')
  expect(clientKey('user')(record)).toBeUndefined()
})
