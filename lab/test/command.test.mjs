import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { madeLog, resultOf, runLab } from './support/run-lab.mjs'

const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const text = gunzipSync(readFileSync(madeLog)).toString()

test('a gzip file, a plain file and the standard input give the same', async () => {
  const plain = join(home, 'made.log')
  writeFileSync(plain, text)
  const args = ['--policy', '10/1m']
  const [gzip, file, dash, piped] = await Promise.all([
    resultOf(['replay', madeLog, ...args]),
    resultOf(['replay', plain, ...args]),
    resultOf(['replay', '-', ...args], text),
    resultOf(['replay', ...args], readFileSync(madeLog)),
  ])
  for (const each of [file, dash, piped]) expect(each.policies).toEqual(gzip.policies)
})

test('bad lines are counted and shown, and change nothing', async () => {
  const spoilt = text
    .split('\n')
    .map((line, n) => (n % 100 === 5 ? `rubbish ${n}\n${line}` : line))
    .join('\n')
  const { log, policies } = await resultOf(['replay', '-', '--policy', '10/1m'], spoilt)
  expect([log.bad, log.badLines[0].text, policies[0].refused]).toEqual([15, 'rubbish 5', 101])
  const { stdout } = await runLab(['replay', '-', '--policy', '10/1m'], spoilt)
  expect(stdout).toContain('15 bad lines were left out, such as line 6: rubbish 5')
})

test('--fail-above fails if more is refused, and only then', async () => {
  const run = async (share) => (await runLab(['replay', madeLog, '--policy', '10/1m', '--fail-above', share])).code
  expect([await run('5%'), await run('0.07'), await run('6.8%')]).toEqual([1, 0, 0])
  const { stderr } = await runLab(['replay', madeLog, '--policy', '1000/1m', '--policy', '10/1m', '--fail-above', '1%'])
  expect(stderr).toBe('10/1m refuses: 6.73 % of the requests, and --fail-above is 1 %.\n')
  const simulated = await runLab(['simulate', '--workload', 'steady', '--policy', '10/1s', '--fail-above', '10%'])
  const suggested = await runLab(['suggest', madeLog, '--affect', '10%', '--fail-above', '0.01%'])
  expect([simulated.code, suggested.code]).toEqual([1, 1])
})

test.each([
  ['replay', ['replay', madeLog, '--policy', '10/1m', '--policy', '5/10s']],
  ['suggest', ['suggest', madeLog]],
  ['simulate', ['simulate', '--policy', '10/1s']],
])('%s --html writes one page that needs no other file', async (name, args) => {
  const file = join(home, `${name}.html`)
  const { code, stderr } = await runLab([...args, '--html', file])
  expect([code, stderr]).toEqual([0, ''])
  const page = readFileSync(file, 'utf8')
  expect(page).toMatch(/^<!doctype html>/)
  expect(page).not.toMatch(/(src|href)=|@import|url\(/)
  expect(page).toContain('uPlot')
})

test('a page shows hostile texts of the log as texts', async () => {
  const file = join(home, 'hostile.html')
  const line = `198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET /<script>alert(1)</script> HTTP/1.1" 200 12 "-" "</script><b>"\n`
  await runLab(['replay', '-', '--policy', '1/1m', '--html', file], line.repeat(3))
  const page = readFileSync(file, 'utf8')
  expect(page).not.toMatch(/<script>alert|<b>/)
  expect(page).toContain('&lt;script&gt;alert(1)')
})

test.each([
  [['replay', madeLog], 'No policy is given. Write: headgate-lab replay access.log'],
  [['replay', madeLog, '--polcy', '1/1m'], "Unknown option '--polcy'. The options of replay are --policy, --key,"],
  [['replay', madeLog, '--policy', '1/1x'], `('250ms', '10s', '15m', '1h', '1d', '2w')`],
  [['replay', madeLog, '--policy', 'ten'], "Write '100/15m', '10/1s burst 20'"],
  [['replay', madeLog, '--policy', '4 at once'], "Give a rate, such as '30/1m'."],
  [['replay', 'no.log', '--policy', '1/1m'], 'There is no file no.log. Name a log'],
  [['replay', home, '--policy', '1/1m'], 'is a folder. Name a log'],
  [['replay', madeLog, 'more', '--policy', '1/1m'], 'replay does not take "more".'],
  [
    ['replay', madeLog, '--policy', '1/1m', '--key', 'colour'],
    'has the field colour. Name a field of the log with --key.',
  ],
  [
    ['replay', madeLog, '--policy', '1/1m', '--format', 'xml'],
    '--format must be one of json, cloudfront, alb, common, got "xml".',
  ],
  [['replay', madeLog, '--policy', '1/1m', '--fields', 'time'], '--fields does not understand "time". Write time=ts'],
  [
    ['replay', madeLog, '--policy', '1/1m', '--ipv6-prefix', '129'],
    '--ipv6-prefix must be a whole number from 1 to 128, got "129".',
  ],
  [['suggest', madeLog, '--affect', 'few'], '--affect must be a share, got "few". Write 1% or 0.01.'],
  [['suggest', madeLog, '--fail-above', '101%'], '--fail-above must be a share'],
  [['simulate', '--policy', '1/1s', '--workload', 'quiet'], '--workload must be one of steady, poisson,'],
  [['simulate', '--policy', '1/1s', '--store', 'redis'], '--store must be one of memory, lru, shared, got "redis".'],
  [['simulate', madeLog, '--policy', '1/1s'], `Write --workload log to play ${madeLog}.`],
])('headgate-lab %j says what is right', async (args, expected) => {
  const { code, stdout, stderr } = await runLab(args)
  expect(stderr).toContain(expected)
  expect(stderr).not.toContain('    at ')
  expect([code, stdout]).toEqual([2, ''])
})

test('a policy that headgate refuses leads to the page of the error', async () => {
  const { stderr } = await runLab(['replay', madeLog, '--policy', 'ten'])
  expect(stderr).toMatch(/\nSee https:\S+\/errors\/HEADGATE_POLICY\n$/)
})

test('a log without any known line says which formats are read', async () => {
  const { code, stderr } = await runLab(['replay', '-', '--policy', '1/1m'], 'a\nb\n')
  expect(stderr).toContain(
    'The first line is: a Common and Combined Log Format, AWS ALB, CloudFront and JSON lines are read.',
  )
  expect(code).toBe(2)
})

/** What no terminal may get: control characters apart from the end of a line, what turns text, halves of characters. */
const unprintable = /[^\n\P{Cc}]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Sets the title of a window, clears the screen, does so in one byte, turns the text, ends the line. */
const hostile = [
  '\u001b]0;own\u0007',
  '\u001b[2J',
  '\u009b2J',
  '\u202e',
  '\u2066',
  '\r',
  '\u2028',
  '\u007f',
  '\u{e0041}',
].join('x')

const commonLine = (address, route, agent) =>
  `${address} - ${hostile} [05/Mar/2026:09:08:07 +0000] "GET /${route} HTTP/1.1" 200 12 "-" "${agent}"\n`
const jsonLine = (fields) => `${JSON.stringify({ time: '2026-03-05T09:08:07Z', ip: '198.51.100.1', ...fields })}\n`

const usual = commonLine('198.51.100.2', 'a', 'b')

test.each([
  ['the fields of a common log', commonLine('198.51.100.1', hostile, hostile), []],
  ['its clients', usual + commonLine(`a${hostile}`, 'a', 'b'), []],
  ['a client by another field', commonLine('198.51.100.1', 'a', hostile), ['--key', 'agent+user']],
  ['the fields of JSON lines', jsonLine({ url: hostile, method: hostile, agent: hostile, status: hostile }), []],
  ['a client in JSON lines', jsonLine({ peer: [hostile, hostile] }), ['--key', 'peer']],
  ['a bad line', `${usual}${hostile}\n`, []],
  ['a log of bad lines', `${hostile}\n`, []],
  ['a field that no line has', usual, ['--key', hostile]],
  ['an option', usual, ['--format', hostile]],
])('%s cannot control the terminal', async (_, lines, options) => {
  const commands = [
    ['replay', '-', '--policy', '1/1d'],
    ['replay', '-', '--policy', '1/1d', '--json'],
    ['suggest', '-'],
    ['simulate', '-', '--workload', 'log', '--policy', '1/1d', '--json'],
  ]
  const run = (command) => runLab([...command, ...options], lines.repeat(3))
  for (const { stdout, stderr } of await Promise.all(commands.map(run))) {
    expect(stdout + stderr).not.toBe('')
    expect(stdout + stderr).not.toMatch(unprintable)
    expect(stderr).not.toContain('    at ')
  }
})

test('what is escaped can be read, and JSON has the same value', async () => {
  const log = jsonLine({ url: `/${hostile}` })
  const { stdout } = await runLab(['replay', '-', '--policy', '1/1d'], log.repeat(2))
  expect(stdout).toContain('/\\u{1b}]0;own\\u{7}x\\u{1b}[2Jx\\u{9b}2Jx\\u{202e}')
  const { policies } = await resultOf(['replay', '-', '--policy', '1/1d'], log.repeat(2))
  expect(policies[0].route[0].name).toBe(` /${hostile}`)
})

const numbers = Array.from({ length: 101 }, (_, n) => `${n}\n`).join('')
const start = '{"level":30,"msg":"Server listening"}\n'
const noise = (seed) => {
  let state = seed
  return Uint8Array.from({ length: 50_000 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}

test.each([
  ['a blank line after the first hundred', `${numbers}\n1\n2\n`],
  ['JSON lines without a time, and a blank line', `${start}\n${start}`],
  ['JSON lines without a client, and a blank line', `${jsonLine({ ip: undefined })}\n`],
  ['blank lines', '\n\n'],
  ['nothing', ''],
  ['headers alone', '#Version: 1.0\n#Fields: date time c-ip\n'],
  ['a time that no calendar has', jsonLine({ time: 1e300 })],
  ['fields that are objects', jsonLine({ ip: { toString: 1, valueOf: 1 }, url: [{ toString: 1 }] })],
  ...Array.from({ length: 3 }, (_, seed) => [`random bytes ${seed}`, noise(seed)]),
])('a log with %s is an error in a sentence', async (_, log) => {
  const commands = [['replay', '--policy', '10/1s'], ['suggest'], ['simulate', '--workload', 'log', '--policy', '1/1d']]
  for (const { code, stdout, stderr } of await Promise.all(commands.map((args) => runLab([...args, '-'], log)))) {
    expect(stderr).toMatch(/^No line of - has (a known format|the field address)\. .*\n$/)
    expect([code, stdout]).toEqual([2, ''])
  }
})

test('a gzip file that is cut off is an error, not a result', async () => {
  const { code, stdout, stderr } = await runLab(
    ['replay', '-', '--policy', '1/1m'],
    readFileSync(madeLog).subarray(0, 9000),
  )
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain('cannot be read: unexpected end of file')
})

test.each([[[]], [['--help']], [['replay', '--help']], [['suggest', '--help']], [['simulate', '--help']]])(
  '%j prints help',
  async (args) => {
    const { code, stdout } = await runLab(args)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^headgate-lab /)
  },
)
