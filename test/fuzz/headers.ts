import { parseRateLimit } from '../../src/pacer/index.ts'
import { check, hostileText, pick, type Target } from './target.ts'

const names = ['ratelimit', 'ratelimit-policy'].concat(
  ['ratelimit-', 'x-ratelimit-', 'x-rate-limit-'].flatMap((prefix) =>
    ['limit', 'remaining', 'reset'].map((field) => prefix + field),
  ),
)
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
  ],
]
const now = Date.UTC(2026, 0, 1)

/** `parseRateLimit` never throws, and every number that it returns is finite and not negative. */
export const headers: Target = {
  name: 'header parser',
  run(random) {
    const fields: Record<string, string> = { 'retry-after': hostileText(random, pieces, 4) }
    for (let n = random(5); n > 0; n--) fields[pick(random, names)] = hostileText(random, pieces)
    const { retryAfter, quotas } = parseRateLimit(fields, now)
    check(isTime(retryAfter), 'retryAfter is a finite time', fields, retryAfter)
    for (const { limit, remaining, window, resetAfter } of quotas) {
      check([limit, remaining, window, resetAfter].every(isTime), 'numbers are finite', fields, quotas)
    }
  },
}

function isTime(value: number | undefined): boolean {
  return value === undefined || (value >= 0 && value < Infinity)
}
