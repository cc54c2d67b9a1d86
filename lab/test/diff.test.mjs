import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, policy, RateLimiter } from 'headgate'
import { quota } from 'headgate/calendar'
import { afterAll, expect, test } from 'vitest'
import { parse } from '../cli/options.mjs'
import { diff } from '../commands/diff.mjs'
import { randomOf } from '../engine/random.mjs'
import { runLab } from './support/run-lab.mjs'

const home = mkdtempSync(join(tmpdir(), 'lab-diff-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

function written(name, document) {
  const path = join(home, name)
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document))
  return path
}

/** The result of the command, in this process. */
const resultOf = async (...args) => (await diff.run(parse('diff', diff, args))).result

const hour = 3_600_000
const start = Date.UTC(2026, 9, 24, 9) // two days with a change of the clocks in Berlin

/** Requests of 14 clients within three days: most of them in bursts, some in the wrong order. */
function randomLog(random) {
  const requests = []
  while (requests.length < 400) {
    const client = `203.0.113.${Math.floor(14 * random() ** 2)}`
    let time = start + Math.floor(random() * 72 * hour)
    for (let left = Math.ceil(random() * 12); left > 0; left--, time += Math.floor(random() ** 4 * hour)) {
      requests.push({ time, client })
    }
  }
  return requests.sort((a, b) => a.time - b.time)
}

const rates = [
  '10/1h',
  '6/1h fixed-window',
  '4/15m sliding-log',
  '3/10m burst 5',
  '8/2h gcra',
  '12/3h segmented-window',
  '2/1s leaky-bucket',
]
const quotas = ['9/day', '9/day Europe/Berlin', '15/month', '11/week Asia/Tokyo']
const penalties = [undefined, { after: 2, within: '1h', ban: '3h' }, { on: 'spent', ban: '2h' }]

/** A plan as a file has it, and the same plan as a program writes it. */
function randomPlan(random) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const parts = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, n) => {
    const [text, make] = random() < 0.3 ? [pick(quotas), quota] : [pick(rates), policy]
    const options = {
      name: `p${n}`,
      ...(random() < 0.3 && { scope: 'user' }),
      ...(random() < 0.2 && { countRefused: true }),
      ...(n > 0 && random() < 0.1 && { shadow: true }),
    }
    return { inFile: { policy: text, ...options }, byHand: make(text, options) }
  })
  const penalty = pick(penalties)
  return {
    inFile: { policies: parts.map(({ inFile }) => inFile), ...(penalty && { penalty }) },
    byHand: { policies: parts.map(({ byHand }) => byHand), ...(penalty && { penalty }) },
  }
}

/** True for each request that a limiter with these policies refuses. */
function replayed(options, requests) {
  let now = 0
  const limiter = new RateLimiter({ ...options, store: memoryStore({ clock: () => now * 1000 }) })
  return requests.map(({ time, client }) => {
    now = time
    return !limiter.consumeSync(options.policies.some(({ scope }) => scope === 'user') ? both(options, client) : client)
      .allowed
  })
}

function both({ policies }, client) {
  return Object.fromEntries(policies.map(({ scope }) => [scope, client]))
}

const countOf = (flags) => flags.filter(Boolean).length

test('the counts are those of two replays, for 50 random pairs of files', async () => {
  const random = randomOf(36)
  const requests = randomLog(random)
  const lines = requests.map(({ time, client }) => JSON.stringify({ time, ip: client }))
  for (let n = 0; n + 3 < lines.length; n += 7) [lines[n], lines[n + 3]] = [lines[n + 3], lines[n]]
  const log = written('random.log', lines.join('\n'))
  const clients = [...new Set(requests.map(({ client }) => client))]
  let changed = 0
  for (let pair = 0; pair < 50; pair++) {
    const [old, now] = [randomPlan(random), randomPlan(random)]
    const [was, is] = [replayed(old.byHand, requests), replayed(now.byHand, requests)]
    const newly = is.map((refused, n) => refused && !was[n])
    const noLonger = was.map((refused, n) => refused && !is[n])
    const of = (client) => (flags) => countOf(flags.filter((_, n) => requests[n].client === client))
    const affected = (flags) => clients.filter((client) => of(client)(flags) > 0)
    const totals = (flags) => ({
      requests: countOf(flags),
      share: countOf(flags) / requests.length,
      clients: affected(flags).length,
    })
    const result = await resultOf(
      written('old.json', { limiters: { api: old.inFile } }),
      written('new.json', { limiters: { api: now.inFile } }),
      log,
    )
    expect(result).toMatchObject({
      requests: requests.length,
      clients: clients.length,
      old: totals(was),
      new: totals(is),
      newlyRefused: totals(newly),
      noLongerRefused: totals(noLonger),
      newlyAffected: affected(is).filter((client) => !affected(was).includes(client)).length,
      noLongerAffected: affected(was).filter((client) => !affected(is).includes(client)).length,
    })
    const byHand = clients.map((client) => ({
      client,
      requests: of(client)(requests),
      refusedBefore: of(client)(was),
      refusedAfter: of(client)(is),
      newlyRefused: of(client)(newly),
      noLongerRefused: of(client)(noLonger),
    }))
    for (const [rows, field] of [
      [result.clientsNewlyRefused, 'newlyRefused'],
      [result.clientsNoLongerRefused, 'noLongerRefused'],
    ]) {
      const most = byHand.map((each) => each[field]).filter((count) => count > 0)
      expect(rows.map((row) => row[field])).toEqual(most.sort((a, b) => b - a).slice(0, 10))
      expect(byHand).toEqual(expect.arrayContaining(rows))
    }
    if (countOf(newly) > 0 && countOf(noLonger) > 0) changed++
  }
  expect(changed).toBeGreaterThan(20)
})

const at = (minute, ip = '203.0.113.7') => JSON.stringify({ time: start + minute * 60_000, ip })
const sixADay = written('six.log', [0, 1, 2, 3, 4, 5].map((minute) => at(minute)).join('\n'))
const file = (name, policies, plans) => written(name, { limiters: { api: { policies, ...(plans && { plans }) } } })
const two = file('two.json', '2/1h', { pro: '5/1h', max: 'unlimited' })
const four = file('four.json', ['4/1h', { policy: '100/day', scope: 'user' }], { pro: '3/1h', max: '1/1h' })

test('the table says who, how often, and how many in all', async () => {
  const { code, stdout } = await runLab(['diff', four, two, sixADay])
  expect(code).toBe(0)
  expect(stdout).toMatch(/203\.0\.113\.7 +6 +2 +4 +2\n/)
  expect(stdout).toMatch(/newly refused +2 +33\.33 % +1\n/)
  expect(stdout).toContain(
    '0 clients had no refused request before and have one now; 0 had one before and have none now.',
  )
})

test('--fail-above counts the newly refused requests only', async () => {
  const run = async (...args) => (await runLab(['diff', ...args, sixADay, '--fail-above', '10%'])).code
  expect(await Promise.all([run(four, two), run(two, four), run(two, two)])).toEqual([1, 0, 0])
})

test('--plan compares a plan, several logs are one, and --key says who is a client', async () => {
  const newly = async (...args) => (await resultOf(...args)).newlyRefused.requests
  expect(await newly(two, four, sixADay, '--plan', 'pro')).toBe(2)
  expect(await newly(two, four, sixADay, '--plan', 'max')).toBe(5)
  const later = written('later.log', [6, 7].map((minute) => at(minute)).join('\n'))
  expect(await newly(four, two, later, sixADay)).toBe(2)
  expect((await resultOf(four, two, later, sixADay)).requests).toBe(8)
  const users = written(
    'users.log',
    [0, 1, 2].map((n) => JSON.stringify({ time: start, ip: 'x', peer: `u${n}` })).join('\n'),
  )
  expect([await newly(four, two, users), await newly(four, two, users, '--key', 'peer')]).toEqual([1, 0])
})

const several = written('several.json', { limiters: { a: '1/1h', b: { plans: { x: '1/1h', y: '2/1h' } } } })
const inFlight = file('in-flight.json', ['2/1h', '4 at once'])
const caller = file('caller.json', [{ policy: '5/month', anchor: 'caller', timeZone: 'caller' }])
const broken = written('broken.json', '{\n"limiters": {\n"api": "2/1x" } }')

test.each([
  [[two], 'Two policy files are needed. Write: headgate-lab diff old.json new.json access.log'],
  [[several, several, sixADay], 'The files have several limiters: a, b. Name one with --limiter.'],
  [[several, several, sixADay, '--limiter', 'b'], 'The files have several plans: x, y. Name one with --plan.'],
  [[two, several, sixADay, '--limiter', 'a'], 'there is no limiter "a". The limiters are api.'],
  [[two, four, sixADay, '--plan', 'none'], 'has no plan "none". Its plans are pro, max.'],
  [
    [two, inFlight, sixADay],
    `in-flight.json: at-once" limits requests in flight, and nothing here says when a request ends.`,
  ],
  [
    [two, caller, sixADay],
    'caller.json: month" asks each call for the anchor and the timeZone, and nothing here says them.',
  ],
  [[two, broken, sixADay], 'broken.json, line 3, limiters.api:'],
  [[two, join(home, 'none.json'), sixADay], 'none.json cannot be read'],
  [[two, four, join(home, 'none.log')], 'There is no file'],
])('headgate-lab diff %j says what is right', async (args, expected) => {
  await expect(resultOf(...args)).rejects.toThrow(expected)
})
