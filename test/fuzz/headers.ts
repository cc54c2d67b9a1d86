import { ServerQuotas } from '../../src/pacer/fetch/server-quotas.ts'
import { parseRateLimit } from '../../src/pacer/index.ts'
import { check, hostileText, pick, type Target } from './target.ts'

const names = [
  ...['ratelimit', 'ratelimit-policy', 'retry-after-ms', 'x-ratelimit-reset-after'],
  ...['ratelimit-', 'x-ratelimit-', 'x-rate-limit-', 'ratelimitbysize-', 'anthropic-ratelimit-tokens-'].flatMap(
    (prefix) => ['limit', 'remaining', 'reset'].map((field) => prefix + field),
  ),
  ...['requests', 'tokens', 'req-minute', 'tokens-minute'].flatMap((unit) =>
    ['limit', 'remaining', 'reset'].map((field) => `x-ratelimit-${field}-${unit}`),
  ),
  'x-ratelimit-tokens-query-cost',
]
const pieces = [
  ...[
    '"',
    '\\',
    ';',
    ',',
    '=',
    ':',
    '(',
    ')',
    '*',
    '?1',
    '@',
    ' ',
    '\t',
    '-',
    '.',
    'e',
    '+',
    '%',
    '0',
    '1',
    '9'.repeat(15),
  ],
  ...[
    '9'.repeat(400),
    '"a"',
    'limit',
    'remaining',
    'reset',
    ';r=',
    ';t=',
    ';q=',
    ';w=',
    ';pk=:YQ==:',
    ';qu="requests"',
  ],
  ...[
    'Thu, 01 Jan 2026 00:01:00 GMT',
    'Thursday, 01-Jan-26 00:01:00 GMT',
    'Thu Jan  1 00:01:00 2026',
    'Infinity',
    'NaN',
    '1e400',
    '2026-01-01T00:01:00Z',
    '9999-12-31T23:59:59.999+14:00',
  ],
  ...['1', '6', '0.5', '7.66', 'd', 'h', 'm', 's', 'ms', '6m0s', '120ms', '-'],
]
const now = Date.UTC(2026, 0, 1)

const longest = 300_000
const followed = ['requests', 'tokens', 'a'].map((quota) => ({ quota, policy: quota }))

/**
 * `parseRateLimit` never throws, and every number that it returns is finite and not negative. No request waits for longer
 * than the longest hold.
 */
export const headers: Target = {
  name: 'header parser',
  run(random) {
    let time = now
    const server = new ServerQuotas(followed, longest, () => time * 1000)
    for (let responses = 1 + random(3); responses > 0; responses--) {
      const fields: Record<string, string> = { 'retry-after': hostileText(random, pieces, 4) }
      for (let n = random(5); n > 0; n--) fields[pick(random, names)] = hostileText(random, pieces, 1 + random(12))
      const { retryAfter, quotas } = parseRateLimit(fields, now)
      check(isTime(retryAfter), 'retryAfter is a finite time', fields, retryAfter)
      for (const { limit, remaining, window, resetAfter, cost } of quotas) {
        check([limit, remaining, window, resetAfter, cost].every(isTime), 'numbers are finite', fields, quotas)
      }
      const flight = server.send(1 + random(9))
      server.note(flight, quotas, 1000)
      if (random(2) === 0) server.end(flight)
      const wait = server.wait(1 + random(9))
      check(Number.isInteger(wait) && wait >= 0 && wait <= longest, 'a wait has an end', fields, quotas, wait)
      time = now + longest
      check(server.wait(Number.MAX_SAFE_INTEGER) === 0, 'the longest hold ends', fields, quotas)
      time = now
    }
  },
}

function isTime(value: number | undefined): boolean {
  return value === undefined || (value >= 0 && value < Infinity)
}
