import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fixedWindow, memoryStore, policy, RateLimiter, tokenBucket } from 'headgate'
import { quota } from 'headgate/calendar'
import { policiesFrom } from 'headgate/policy-file'
import { afterAll, expect, test } from 'vitest'
import { randomOf } from '../engine/random.mjs'
import { findingsIn } from '../lint/findings.mjs'
import { stricterThan } from '../lint/never-binds.mjs'
import { runLab } from './support/run-lab.mjs'

const home = mkdtempSync(join(tmpdir(), 'lab-lint-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const found = (api) => findingsIn(policiesFrom({ limiters: { api } }).limiters())
const rulesOf = (api) => found(api).map(({ rule, plan, policy }) => [rule, plan, policy].filter(Boolean).join(' '))

const hourly = { algorithm: 'fixed-window', window: '1h' }

test.each([
  // What never binds, by the algorithms of the two policies.
  [['100/1m', '10/1h'], ['never-binds 1m']],
  [['100/1m', '100/1h'], ['never-binds 1m']],
  [['100/1m', '101/1h'], []],
  [['100/1m fixed-window', '100/1h fixed-window'], ['never-binds 1m']],
  [['100/1m', '100/1h fixed-window'], []], // the hour forgets what the minute still counts
  [['100/7m', '100/1h'], []], // windows of 7 minutes cross hours
  [['100/7m', '50/1h'], ['never-binds 7m']],
  [[{ ...hourly, limit: 1000, thresholds: [0.8, 1] }, '10/1s'], []],
  [[{ ...hourly, limit: 90, giveBack: true }, '10/1d fixed-window'], ['never-binds 1h']],
  [
    [
      { ...hourly, limit: 9, giveBack: true },
      { ...hourly, limit: 90, window: '1d', giveBack: true },
    ],
    [],
  ],
  [[{ ...hourly, limit: 36000, giveBack: true }, '10/1s sliding-log'], ['never-binds 1h']],
  [[{ ...hourly, limit: 35999, giveBack: true }, '10/1s sliding-log'], []],
  [['100/1m', '1000/1d', '10/1s'], []],
  [['10/1m', '100000/1d'], ['never-binds 1d']],
  [['10/1m', '14400/1d'], []],
  [['10/1m sliding-log', '14400/1d fixed-window'], ['never-binds 1d']],
  [['10/1m sliding-log', '14420/1d'], ['never-binds 1d']],
  [['10/1m sliding-log', '14419/1d'], []],
  [['10/10m', { policy: '10/10m sliding-log', name: 'burst' }], []], // the window before still counts in part
  [['10/1s burst 20', '5/1m burst 20'], ['never-binds 1s']],
  [['10/1s burst 20', '5/1m burst 21'], []],
  [['10/1s burst 20', '36100/1h burst 40'], ['never-binds 1h']],
  [['1000/day', '900/month'], ['never-binds day']],
  [['1000/day Europe/Berlin', '900/month'], []],
  [['1000/day', '1001/month'], []],
  [['10/1m', '2000000/month'], ['never-binds month']],
  [['10/1m', '400000/month'], []],
  [['100/1m', { policy: '100/1m', name: 'minute' }], ['never-binds minute']],
  // Policies that do not stand beside each other.
  [['100/1m', { policy: '10/1h', scope: 'user' }], []],
  [['100/1m', { policy: '10/1h', shadow: true }], []],
  [[{ policy: '100/1m', shadow: true }, '10/1h'], []],
  [[{ policy: '100/1m', countRefused: true }, '10/1h'], []],
  [['60/1m', { policy: '100000/1m', name: 'tokens' }], []], // each may have costs of its own
  [['0/1m', '10/1h'], []], // closed for a while
  [['10/1h', '4 at once'], []],
  [[{ every: 'day', limit: 900, thresholds: [0.5] }, '100/month'], []],
  // Months.
  [['1000/30d'], ['month-of-days 30d']],
  [[{ policy: '1000/30d', name: 'rolling-30d' }], []],
  [[{ policy: '1000/28d', name: 'monthly' }], ['month-of-days monthly']],
  [[{ policy: '1000/31d', name: 'x', label: 'Month' }], ['month-of-days x']],
  [['1000/4w'], []],
  [['1000/month'], []],
  // A candidate is a plan of its own.
  [{ policies: '100/1m', candidate: ['100/1m', '10/1h'] }, ['never-binds 1m']],
  [{ plans: { pro: { policies: '100/1m', candidate: ['1000/30d'] } } }, ['month-of-days pro 30d']],
  [{ policies: '100/1m', candidate: 'unlimited' }, []],
  // Scopes and names of several plans.
  [
    { policies: { policy: '9/1h', scope: 'user' }, plans: { pro: { policy: '90/1h', scope: 'users' } } },
    ['similar-scopes pro'],
  ],
  [
    { policies: { policy: '9/1h', scope: 'tenant' }, plans: { pro: { policy: '90/1h', scope: 'tenatn' } } },
    ['similar-scopes pro'],
  ],
  [{ policies: { policy: '9/1h', scope: 'host' }, plans: { pro: { policy: '90/1h', scope: 'post' } } }, []],
  [{ policies: { policy: '9/1h', scope: 'key1' }, plans: { pro: { policy: '90/1h', scope: 'key2' } } }, []],
  [{ policies: '9/1h', penalty: { after: 5, within: '1m', ban: '1h', scope: 'Default' } }, ['similar-scopes']],
  [{ policies: '9/1h', plans: { pro: { policy: '4 at once', name: '1h' } } }, ['other-units pro 1h']],
  [{ policies: '9/1h', plans: { pro: '90/1h burst 100', max: 'unlimited' } }, []],
])('%j: %j', (api, rules) => {
  expect(rulesOf(api)).toEqual(rules)
})

test('a policy that never binds refuses no request that the other admits, whatever comes', () => {
  const random = randomOf(3)
  const pick = (list) => list[Math.floor(random() * list.length)]
  const kinds = ['', ' fixed-window', ' sliding-log', ' segmented-window', ' burst 3', ' burst 9', ' gcra']
  const periods = ['day', 'day Europe/Berlin', 'month', 'week']
  const draw = (name) => {
    const limit = Math.ceil(40 * random() ** 2)
    if (random() < 0.2) return quota(`${limit}/${pick(periods)}`, { name })
    if (random() < 0.15) return fixedWindow({ name, limit, window: pick(['15m', '1h', '1d']), giveBack: true })
    if (random() < 0.1) return tokenBucket({ name, limit, window: '20m', refill: 'interval' })
    return policy(`${limit}/${pick(['10m', '15m', '1h', '3h', '1d'])}${pick(kinds)}`, { name })
  }
  const tried = new Map()
  for (let n = 0; n < 1000; n++) {
    const pair = [draw('burst'), draw('sustained')]
    const [never] = pair.filter((each) => stricterThan(each, pair))
    if (never === undefined) continue
    const kindsOfPair = pair.map(({ algorithm }) => algorithm.kind).join()
    tried.set(kindsOfPair, (tried.get(kindsOfPair) ?? 0) + 1)
    let now = Date.UTC(2026, 9, 24, 21) * 1000
    const limiter = new RateLimiter({ name: `pair-${n}`, policies: pair, store: memoryStore({ clock: () => now }) })
    for (let call = 0; call < 150; call++) {
      // Waits that end at the edges of windows, just before, or anywhere.
      const step = pick([600, 900, 3600, 10_800, 86_400]) * 1e6
      if (random() < 0.4)
        now = random() < 0.5 ? Math.ceil((now + 1) / step) * step - pick([0, 1]) : now + Math.floor(random() * step)
      const { allowed, policies } = limiter.consumeSync('ann', { cost: random() < 0.8 ? 1 : Math.ceil(10 * random()) })
      if (allowed) continue
      const other = policies.find(({ name }) => name !== never.name)
      expect([never.name, pair.map(({ name, limit }) => [name, limit]), other.allowed]).toEqual([
        never.name,
        expect.anything(),
        false,
      ])
    }
  }
  expect(tried.size).toBeGreaterThan(20)
})

test('a warning ends with code 1, an invalid file with 2 and the line, and a file without a mistake with 0', async () => {
  const file = (name, text) => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }
  const [right, warned, wrong] = [
    file('right.json', '{ "limiters": { "api": ["10/1s", "100/1h"] } }'),
    file('warned.json', '{ "limiters": { "api": { "plans": { "pro\\u001b": ["1000/30d"] } } } }'),
    file('wrong.json', '{\n  "limiters": {\n    "api": ["ten"]\n  }\n}'),
  ]
  const [good, poor, bad, none, json] = await Promise.all(
    [[right], [warned], [wrong], [], [warned, '--json']].map((args) => runLab(['lint', ...args])),
  )
  expect(good).toEqual({ code: 0, stdout: `${right}: 1 limiter, 0 warnings\n`, stderr: '' })
  expect([poor.code, poor.stdout]).toEqual([
    1,
    'api, plan pro\\u{1b}, 30d: A window of 30 days looks like a month, but does not begin and end with a month. Write "1000/month". ' +
      `If 30 days are meant, say so with "name": "rolling-30d".\n${warned}: 1 limiter, 1 warning\n`,
  ])
  const tried = file('tried.json', '{ "limiters": { "api": { "policies": "9/1s", "candidate": "1000/30d" } } }')
  expect((await runLab(['lint', tried])).stdout).toMatch(/^api, candidate, 30d: A window of 30 days/)
  expect([bad.code, bad.stdout]).toEqual([2, ''])
  expect(bad.stderr).toMatch(/wrong\.json, line 3, limiters\.api\[0\]: .* Write '100\/15m'.*\/HEADGATE_POLICY\n$/s)
  expect([none.code, none.stderr]).toEqual([2, 'No policy file is given. Write: headgate-lab lint policies.json\n'])
  expect(JSON.parse(json.stdout)).toMatchObject({
    limiters: ['api'],
    warnings: [{ rule: 'month-of-days', plan: 'pro\u001b' }],
  })
})

test('no example of the docs has a warning', () => {
  const folders = ['../../docs/', '../../docs/recipes/'].map((folder) => new URL(folder, import.meta.url))
  const pages = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(new URL(name, folder), 'utf8')),
  )
  const blocks = pages.flatMap((page) => [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text]) => text))
  const files = blocks.filter((text) => text.includes('"limiters"'))
  expect(files.length).toBeGreaterThan(0)
  for (const text of files) expect(findingsIn(policiesFrom(JSON.parse(text)).limiters())).toEqual([])
  // Lists of policies as programs write them.
  const lists = pages.flatMap((page) =>
    [...page.matchAll(/policies: \[((?:'\d+\/[^']+'(?:, )?){2,})\]/g)].map(([, list]) => list),
  )
  expect(lists.length).toBeGreaterThan(5)
  for (const list of lists)
    expect([list, found(list.split(/, (?=')/).map((text) => text.slice(1, -1)))]).toEqual([list, []])
})
