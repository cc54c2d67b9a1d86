import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { madeLines, smallLog, visitLines } from './support/made-log.mjs'
import * as plain from './support/plain-counts.mjs'
import { madeLog, main, resultOf, runLab } from './support/run-lab.mjs'

const policies = ['10/1m', '5/10s fixed-window', '5/10s sliding-log', '20/1m burst 10', '100/15m']
const replay = (file, ...more) => resultOf(['replay', file, ...policies.flatMap((text) => ['--policy', text]), ...more])

/** What the policies refuse, counted without headgate. */
function plainly(file) {
  const requests = plain.requestsOf(file)
  return [
    plain.slidingWindow(requests, 10, 60),
    plain.fixedWindow(requests, 5, 10),
    plain.slidingLog(requests, 5, 10),
    plain.tokenBucket(requests, 20, 60, 10),
    plain.slidingWindow(requests, 100, 900),
  ]
}

test('a quota of a day counts the days of its time zone', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'lab-quota-')), 'hours.json')
  // From 22:00 to 03:00 in UTC, which is midnight in Tokyo plus seven hours, and midnight in Berlin minus one.
  const hours = Array.from({ length: 6 }, (_, n) => ({
    time: Date.UTC(2026, 10, 23, 22 + n) / 1000,
    ip: '203.0.113.7',
  }))
  writeFileSync(file, hours.map((line) => JSON.stringify(line)).join('\n'))
  const texts = ['2/day', '2/day Europe/Berlin', '2/day Asia/Tokyo', '2/month']
  const { policies } = await resultOf(['replay', file, ...texts.flatMap((text) => ['--policy', text])])
  const admitted = Object.fromEntries(policies.map(({ policy, admitted }) => [policy, admitted]))
  expect(admitted).toEqual({ '2/day': 4, '2/day Europe/Berlin': 3, '2/day Asia/Tokyo': 2, '2/month': 2 })
  rmSync(dirname(file), { recursive: true })
})

describe('replay of the made log', () => {
  test('which is the one that its generator makes', () => {
    const lines = gunzipSync(readFileSync(madeLog)).toString().trimEnd().split('\n')
    expect(lines).toEqual([...madeLines(smallLog)])
  })

  test('refuses exactly what the definitions of the algorithms refuse', async () => {
    const { log, requests, clients, policies } = await replay(madeLog)
    expect([log.lines, log.bad, log.late, requests, clients]).toEqual([1500, 0, 0, 1500, 80])
    expect(policies.map(({ refused, clientsAffected }) => ({ refused, affected: clientsAffected }))).toEqual(
      plainly(madeLog),
    )
    expect(policies.map(({ refused }) => refused)).toEqual([101, 10, 19, 7, 71])
  })

  test('every count of a policy adds up', async () => {
    const { overTime, policies, requests } = await replay(madeLog)
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0)
    expect(sum(overTime.requests)).toBe(requests)
    for (const { admitted, refused, refusedOverTime, status } of policies) {
      expect([admitted + refused, sum(refusedOverTime)]).toEqual([requests, refused])
      expect(sum(status.map((each) => each.refused))).toBe(refused)
    }
  })

  test('the policy itself stands among the same limits by other algorithms', async () => {
    const { policies } = await replay(madeLog)
    const of = (n, name) => policies[n].algorithms.find(({ algorithm }) => algorithm === name).refused
    expect(of(0, 'sliding window')).toBe(policies[0].refused)
    expect(of(1, 'fixed window')).toBe(policies[1].refused)
    expect(of(1, 'sliding log')).toBe(policies[2].refused)
    expect(of(3, 'token bucket')).toBe(policies[3].refused)
  })

  test('clients can be agents, or several fields together', async () => {
    const agents = await replay(madeLog, '--key', 'agent')
    expect(agents.clients).toBe(4)
    const both = await replay(madeLog, '--key', 'address+route')
    expect(both.clients).toBeGreaterThan(300)
    expect(both.policies[0].refused).toBe(0)
  })
})

test('a log of four days, longer than every window, is counted as the definitions count it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
  const file = join(home, 'days.log.gz')
  writeFileSync(file, gzipSync(visitLines({ lines: 10_000, clients: 1750, seed: 7 }).join('\n')))
  const { requests, clients, from, to, policies } = await replay(file)
  const expected = plainly(file)
  const names = new Set(plain.requestsOf(file).map(({ client }) => client))
  rmSync(home, { recursive: true })
  expect([requests, clients, Math.round((to - from) / 86_400_000)]).toEqual([10_000, names.size, 4])
  expect(policies.map(({ refused, clientsAffected }) => ({ refused, affected: clientsAffected }))).toEqual(expected)
  // Every policy refuses something, and not to everybody.
  for (const { refused, affected } of expected)
    expect(affected > 0 && refused > 20 && affected < names.size / 2).toBe(true)
})

test('--follow goes on with a log that is written, cut and replaced', async () => {
  const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
  const file = join(home, 'live.log')
  const lineAt = (second) =>
    `198.51.100.1 - - [05/Mar/2026:09:08:${String(second).padStart(2, '0')} +0000] "GET / HTTP/1.1" 200 12\n`
  writeFileSync(file, lineAt(1) + lineAt(2))
  const child = spawn(process.execPath, [main, 'replay', file, '--policy', '3/1m', '--follow', '--json'])
  const steps = [
    [2, () => appendFileSync(file, lineAt(3) + lineAt(4).slice(0, 30))],
    [3, () => appendFileSync(file, lineAt(4).slice(30))],
    [
      4,
      () => {
        renameSync(file, `${file}.1`)
        writeFileSync(file, `${lineAt(5)}\n`)
      },
    ],
    [
      5,
      () => {
        truncateSync(file)
        appendFileSync(file, lineAt(6))
      },
    ],
    [6, () => child.kill('SIGINT')],
  ]
  const refused = []
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const { requests, policies } = JSON.parse(line)
    if (steps[0]?.[0] !== requests) return
    refused.push(policies[0].refused)
    steps.shift()[1]()
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect([code, refused]).toEqual([0, [0, 0, 1, 2, 3]])
  rmSync(home, { recursive: true })
})

test('--follow reads one file', async () => {
  const { code, stderr } = await runLab(['replay', madeLog, '-', '--policy', '3/1m', '--follow'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('--follow reads one file. Write: headgate-lab replay')])
})
