import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { files } from '#platform'
import { type HeadgateError, RateLimiter } from '../../src/index.ts'
import { type PolicyFileOptions, policiesFrom } from '../../src/policy-file/index.ts'
import { type JsonNode, readJson } from '../../src/policy-file/json-document.ts'
import { readPolicyDocument } from '../../src/policy-file/policy-document.ts'

const right = {
  limiters: {
    login: '5/15m sliding-log',
    api: {
      policies: ['10/1s burst 20', { policy: '1000/month', name: 'monthly', scope: 'tenant' }],
      penalty: { after: 5, within: '1m', ban: ['1h', '1d'] },
      plans: { pro: [{ algorithm: 'token-bucket', limit: 3, window: '1h' }], max: 'unlimited' },
      candidate: { policies: ['9/1s'], penalty: false },
    },
  },
}
const text = JSON.stringify(right, undefined, 2)

function errorOf(wrong: string) {
  try {
    readPolicyDocument(wrong, 'policies.json')
  } catch (error) {
    return error as Error & { code: string }
  }
  throw new Error(`accepted: ${wrong}`)
}

/** A mistake: what to replace, by what, the line on which it stands, the code, and a part of the message. */
const mistakes: [from: string, to: string, line: number, code: string, says: string][] = [
  [
    '"limiters"',
    '"limits"',
    2,
    'HEADGATE_POLICY_FILE',
    'unknown property "limits". The properties are $schema, limiters.',
  ],
  ['"5/15m sliding-log"', '"5 in 15m"', 3, 'HEADGATE_POLICY', "Write '100/15m'"],
  ['"5/15m sliding-log"', '"0/15x"', 3, 'HEADGATE_WINDOW', "'15m'"],
  ['"5/15m sliding-log"', '5', 3, 'HEADGATE_POLICY_FILE', 'A policy is a text or an object, got 5. Write "100/15m".'],
  ['"5/15m sliding-log"', 'null', 3, 'HEADGATE_POLICY_FILE', 'got null'],
  ['"5/15m sliding-log"', '[]', 3, 'HEADGATE_POLICY_FILE', 'limiters.login: is empty.'],
  ['"5/15m sliding-log"', '{}', 3, 'HEADGATE_POLICY_FILE', 'has neither "policies" nor "plans".'],
  ['"5/15m sliding-log"', '{ "policies": [] }', 3, 'HEADGATE_POLICY_FILE', 'is empty.'],
  [
    '"policies": [',
    '"polices": [',
    5,
    'HEADGATE_POLICY_FILE',
    'unknown property "polices". The properties are policies, penalty, candidate, plans.',
  ],
  ['"10/1s burst 20"', '"10/1s burst 0"', 6, 'HEADGATE_BURST', 'limiters.api.policies[0]'],
  ['"1000/month"', '"1000/fortnight"', 8, 'HEADGATE_POLICY', 'Write'],
  ['"1000/month"', '"1000/month Mars/Phobos"', 8, 'HEADGATE_CALENDAR', 'time zone'],
  ['"scope": "tenant"', '"scope": ""', 10, 'HEADGATE_SCOPE', 'scope must'],
  ['"name": "monthly"', '"name": "1s"', 5, 'HEADGATE_DUPLICATE_POLICY', 'Two policies are named'],
  ['"name": "monthly"', '"nmae": "monthly"', 9, 'HEADGATE_OPTION', 'nmae'],
  ['"after": 5', '"after": 0', 14, 'HEADGATE_PENALTY', 'after must be'],
  ['"after": 5', '"afer": 5', 14, 'HEADGATE_OPTION', 'afer'],
  ['"within": "1m"', '"within": "soon"', 15, 'HEADGATE_PENALTY', 'within must'],
  [
    '"token-bucket"',
    '"bucket"',
    24,
    'HEADGATE_POLICY_FILE',
    'There is no algorithm "bucket". The algorithms are sliding-window,',
  ],
  ['"limit": 3', '"limit": -3', 25, 'HEADGATE_LIMIT', 'limit must be'],
  ['"limit": 3', '"limit": 3.5', 25, 'HEADGATE_LIMIT', 'limit must be'],
  ['"limit": 3', '"limit": "3"', 25, 'HEADGATE_LIMIT', 'limit must be'],
  ['"window": "1h"', '"window": "1 hour of"', 26, 'HEADGATE_WINDOW', 'window must be'],
  ['"window": "1h"', '"window": "0s"', 26, 'HEADGATE_WINDOW', 'window must be'],
  [
    '"window": "1h"',
    '"window": 60',
    26,
    'HEADGATE_POLICY_FILE',
    'window must have a unit in a file, got 60. Write "60s" for seconds, or "60ms" for milliseconds.',
  ],
  ['"within": "1m"', '"within": 60', 15, 'HEADGATE_POLICY_FILE', 'within must have a unit in a file'],
  ['"1d"', '86400', 16, 'HEADGATE_POLICY_FILE', 'ban must have a unit in a file, got 86400'],
  ['"1000/month"', '{ "limit": 50 }', 8, 'HEADGATE_POLICY_FILE', '"policy" must be a text, got an object. Write {'],
  ['"max": "unlimited"', '"max": "unlimted"', 29, 'HEADGATE_POLICY', 'got "unlimted"'],
  ['"max": "unlimited"', '"pro": "unlimited"', 29, 'HEADGATE_POLICY_FILE', 'The name "pro" stands here a second time.'],
  ['"algorithm": "token-bucket"', '"algorithm": "gcra", "policy": "1/1s"', 24, 'HEADGATE_POLICY_FILE', 'not both'],
  ['"9/1s"', '"9 per 1s"', 33, 'HEADGATE_POLICY', 'limiters.api.candidate.policies[0]'],
  ['"9/1s"', '"4 at once"', 31, 'HEADGATE_CANDIDATE', 'counts units in flight'],
  ['"9/1s"', '{ "policy": "9/1s", "scope": "user" }', 31, 'HEADGATE_CANDIDATE', 'has the scope "user"'],
  ['"penalty": false', '"plans": {}', 35, 'HEADGATE_POLICY_FILE', 'unknown property "plans"'],
  ['"penalty": false', '"candidate": "9/1s"', 35, 'HEADGATE_OPTION', 'candidate'],
  ['"max": "unlimited"', '"max": { "policies": "unlimited", "candidate": "9/1s" }', 29, 'HEADGATE_POLICY', 'unlimited'],
]

describe('a wrong file is an error with its line, a code and a fix', () => {
  test.each(mistakes)('%s -> %s', (from, to, line, code, says) => {
    expect(text).toContain(from)
    const error = errorOf(text.replace(from, to))
    expect(error.code).toBe(code)
    expect(error.message).toContain(says)
    expect(error.message).toMatch(new RegExp(`^policies\\.json, line ${line}(, |:)`))
  })

  test('whatever character is lost, added or cut', () => {
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom('cut', 'lose', '{', '}', ']', ',', '"', ':', 'x', '\u0000'),
        (at, how) => {
          const wrong =
            how === 'cut'
              ? text.slice(0, at)
              : text.slice(0, at) + (how === 'lose' ? '' : how) + text.slice(how === 'lose' ? at + 1 : at)
          let parsed: unknown
          try {
            parsed = JSON.parse(wrong)
          } catch {
            const error = errorOf(wrong)
            expect([error.code, /^policies\.json, line \d+: .+ Correct the JSON\./.test(error.message)]).toEqual([
              'HEADGATE_POLICY_FILE',
              true,
            ])
            return
          }
          fc.pre(JSON.stringify(parsed) !== JSON.stringify(right))
          // Still JSON: then it is either valid, as with another name, or an error with a line.
          try {
            readPolicyDocument(wrong, 'policies.json')
          } catch (error) {
            expect((error as Error).message).toMatch(/^policies\.json, line \d+/)
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** A value of the right file. */
interface Place {
  readonly path: string
  /** The lines on which an error may stand: of the value, or of the option whose list it is in. */
  readonly lines: readonly [first: number, last: number]
  /** The file with another value in this place. */
  readonly put: (value: unknown) => string
}

function placesIn(node: JsonNode, path: readonly (string | number)[]): Place[] {
  const below = [...(node.members ?? []), ...(node.items ?? []).entries()]
  return below.flatMap(([name, child]) => {
    const first = node.items === undefined ? child.line : node.line
    const put = (value: unknown) => {
      const document = structuredClone(right)
      const parent = path.reduce((at: object, step) => Reflect.get(at, step), document)
      Reflect.set(parent, name, value)
      return JSON.stringify(document, undefined, 2)
    }
    // The value may begin on its line, and be wrong on the next one.
    const own: Place = { path: [...path, name].join('.'), lines: [first, child.line + 1], put }
    return [own, ...placesIn(child, [...path, name])]
  })
}

/** The file, and a function that gives it another content, as the next look at the file would. */
function watched(options: PolicyFileOptions) {
  let see: (content: string) => void = () => {}
  vi.spyOn(files as NonNullable<typeof files>, 'read').mockReturnValue(text)
  vi.spyOn(files as NonNullable<typeof files>, 'poll').mockImplementation((_, onText) => {
    see = onText
    return () => {}
  })
  return { limits: policiesFrom('policies.json', options), see: (content: string) => see(content) }
}

const wrongValues = [null, true, -1, 0.5, '', '5 per minute', '10/0s', '1e3/1m', [], [[]], [null], {}, { limits: 1 }]

/** Any text is a name and a scope, a name may be null, and a file may have no limiters and no plans. */
const alsoRight = /\.(name|scope) "[^"]+"$|\.name null$|^limiters {}$|\.plans {}$/

test('200 wrong files are 200 errors with the line of the mistake, a code and a fix, and the old policies stay', async () => {
  const files = placesIn(readJson(text), []).flatMap(({ path, lines, put }) =>
    wrongValues.map((value) => ({ change: `${path} ${JSON.stringify(value)}`, lines, wrong: put(value) })),
  )
  const wrongFiles = files.filter(({ change }) => !alsoRight.test(change))
  expect(new Set(wrongFiles.map(({ wrong }) => wrong)).size).toBeGreaterThan(200)
  const errors: HeadgateError[] = []
  const { limits, see } = watched({ onInvalid: (error) => void errors.push(error), onChange: () => {} })
  const limiter = new RateLimiter({ name: 'api', policies: 'unlimited' })
  const inForce = limits.plan('api')
  for (const { change, lines, wrong } of wrongFiles) {
    const { code, message } = errorOf(wrong)
    const line = Number(/^policies\.json, line (\d+), /.exec(message)?.[1])
    const isThere = line >= lines[0] && line <= lines[1]
    const hasFix = /\. (Write|Give|It takes|The algorithms are|The properties are)\b/.test(message)
    expect({ change, message, isThere, hasFix }).toEqual({ change, message, isThere: true, hasFix: true })
    expect(code).toMatch(/^HEADGATE_[A-Z_]+$/)
    see(wrong)
    expect(errors.at(-1)).toMatchObject({ code, message })
    expect(limits.health().error).toBe(errors.at(-1))
    expect(limits.plan('api')).toBe(inForce)
  }
  const keys = { default: 'ann', tenant: 'a' }
  expect(await limiter.withPlan(limits.plan('api')).consume(keys)).toMatchObject({ limit: 10, policy: '1s' })
  see(text.replace('10/1s', '11/1s'))
  expect(limits.health()).toEqual({ since: expect.any(Number) })
  expect(limits.plan('api')).not.toBe(inForce)
})

test('JSON is read as JSON.parse reads it, with the lines of the values', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2, '\t', '\r\n'), (value, space) => {
      const written = JSON.stringify(value, undefined, space)
      expect(readJson(written).value).toEqual(JSON.parse(written))
    }),
    { numRuns: 300 },
  )
  const { members } = readJson('{\n "a": 1,\n\n "b": [\n  2]}')
  expect([members?.get('a')?.line, members?.get('b')?.line, members?.get('b')?.items?.[0]?.line]).toEqual([2, 4, 5])
  expect(() => readJson('['.repeat(60))).toThrow('more than 50 times')
  expect(() => readJson('{} x')).toThrow('The document should end here')
})

test('a name of Object.prototype is a name', () => {
  const document = readPolicyDocument(
    '{"limiters":{"__proto__":"5/1m","constructor":{"plans":{"toString":"6/1m"}}}}',
    undefined,
  )
  expect([...document.keys()]).toEqual(['__proto__', 'constructor'])
  expect(document.get('constructor')?.plans.get('toString')).toMatchObject({ policies: [{ limit: 6 }] })
  expect(document.get('constructor')?.plans.get('valueOf')).toBeUndefined()
})

const schema = JSON.parse(readFileSync(new URL('../../src/policy-file/policies.schema.json', import.meta.url), 'utf8'))
const validate = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(schema)

describe('the schema for editors', () => {
  test('accepts what is accepted', () => {
    const algorithms: object[] = [
      { limit: 1, window: '1m' },
      { algorithm: 'fixed-window', limit: 1, window: '1m', align: 'first-request', label: 'minute' },
      { algorithm: 'segmented-window', limit: 1, window: '60s', segments: 6, countRefused: true },
      { algorithm: 'leaky-bucket', limit: 1, window: '1m', shadow: true },
      { algorithm: 'token-bucket', limit: 1, window: '1m', burst: 2, refill: 'interval' },
      { algorithm: 'gcra', limit: 1, window: '1.5h' },
      { algorithm: 'concurrency', limit: 1, lease: '30s', scope: 'user' },
      { every: 'month', limit: 1, anchor: 31, timeZone: 'Europe/Berlin', thresholds: [0.8, 1] },
      { algorithm: 'calendar', every: { months: 2 }, limit: 1, anchor: '2026-02-15' },
      { policy: '500/day', timeZone: 'Europe/Berlin', name: 'daily' },
      { policy: '500/week', weekStart: 'sunday', listed: false },
      { policy: '4 at once', retryAfter: '2s' },
      { algorithm: 'concurrency', limit: 1, retryAfter: '500ms', listed: false },
    ]
    const documents = [
      right,
      ...algorithms.map((policy) => ({
        $schema: 'x',
        limiters: { api: policy, b: { plans: { a: [policy], b: policy } } },
      })),
      {
        limiters: {
          api: { policies: '1/1m', plans: { free: { policies: '1/1m', penalty: false } } },
          at: ['4 at once lease 30s'],
        },
      },
    ]
    for (const document of documents) {
      expect(readPolicyDocument(JSON.stringify(document), undefined).size).toBeGreaterThan(0)
      expect([document, validate(document) || validate.errors]).toEqual([document, true])
    }
  })

  /** What only the limiter knows: the meaning of a text, and names that are there twice. */
  const onlyTheLimiter =
    /in 15m|15x|"0s"|burst 0|fortnight|Mars|"name": "1s"|1 hour of|"pro": "unl|4 at once|"scope": "user"|"policies": "unl/

  test.each(mistakes.filter(([, to]) => !onlyTheLimiter.test(to)))('refuses %s -> %s', (from, to) => {
    expect(validate(JSON.parse(text.replace(from, to)))).toBe(false)
  })
})

test('a byte order mark and a very long text are read', () => {
  expect(readJson(`\ufeff${text}`).value).toEqual(right)
  expect(errorOf(JSON.stringify({ limiters: { api: 'x'.repeat(9_000_000) } })).code).toBe('HEADGATE_POLICY')
})

test('an object that JSON cannot have is refused, because JSON.stringify would leave a part out, or fail without a code', () => {
  const cycle = { limiters: {} }
  cycle.limiters = cycle
  const wrong: [unknown, RegExp][] = [
    [{ limiters: { api: { algorithm: 'gcra', limit: 5n, window: '1m' } } }, /"limit" is a bigint\. Give numbers/],
    [{ limiters: { api: () => '5/1m' } }, /"api" is a function\./],
    [{ limiters: { api: ['5/1m', Symbol('5/1h')] } }, /"1" is a symbol\./],
    [() => right, /"" is a function\./],
    [cycle, /circular structure to JSON\. Give/],
  ]
  for (const [object, message] of wrong) {
    expect(() => policiesFrom(object as object)).toThrow(message)
    expect(() => policiesFrom(object as object)).toThrow(expect.objectContaining({ code: 'HEADGATE_POLICY_FILE' }))
  }
  policiesFrom({ $schema: undefined, ...right }).close()
})
