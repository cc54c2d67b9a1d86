import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { madeLog, main, resultOf, runLab } from './support/run-lab.mjs'

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
  ['replay', ['replay', madeLog, '--policy', '10/1m', '--policy', '5/10s'], 'What each policy would have done'],
  ['suggest', ['suggest', madeLog], 'Verdict: start with'],
  ['simulate', ['simulate', '--policy', '10/1s'], 'What each policy has done'],
])('%s --html writes one page that needs no other file, and begins with its summary', async (name, args, summary) => {
  const file = join(home, `${name}.html`)
  const { code, stderr } = await runLab([...args, '--html', file])
  expect([code, stderr]).toEqual([0, ''])
  const page = readFileSync(file, 'utf8')
  expect(page).toMatch(/^<!doctype html>/)
  expect(page).not.toMatch(/(src|href)=|@import|url\(/)
  expect(page).toContain('uPlot')
  expect(/<h2>(.*?)<\/h2>/.exec(page)?.[1]).toContain(summary)
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
  [
    ['replay', madeLog, '--polcy', '1/1m'],
    "Unknown option '--polcy'. The options of replay are --policy, --follow, --frames, --key,",
  ],
  [['replay', madeLog, '--policy', '1/1x'], `('250ms', '10s', '15m', '1h', '1d', '2w')`],
  [['replay', madeLog, '--policy', 'ten'], "Write '100/15m', '10/1s burst 20'"],
  [['replay', madeLog, '--policy', '4 at once'], "Give a rate, such as '30/1m'."],
  [['replay', 'no.log', '--policy', '1/1m'], 'There is no file no.log. Name a log'],
  [['replay', 'x'.repeat(300), '--policy', '1/1m'], 'Name a log'],
  [['replay', home, '--policy', '1/1m'], 'is a folder. Name a log'],
  [['replay', madeLog, 'more', '--policy', '1/1m'], 'There is no file more. Name a log'],
  [['redis', 'redis://localhost', 'top', 'key', 'more'], 'redis does not take "more".'],
  [
    ['repaly'],
    'There is no command "repaly". The commands are replay, suggest, simulate, lint, diff, redis, postgres, sqlite.',
  ],
  [
    ['replay', madeLog, '--policy', '1/1m', '--html', '/no/such/report.html'],
    'There is no folder /no/such for the report.',
  ],
  [['replay', madeLog, '--policy', '1/1m', '--html', home], 'is a folder. Name a file with --html'],
  [
    ['suggest', madeLog, '--framework', 'rails'],
    '--framework must be one of express, koa, fastify, hono, nest, got "rails".',
  ],
  [['suggest', madeLog, '--refuse', 'few'], '--refuse must be a share, got "few".'],
  [
    ['replay', madeLog, '--policy', '1/1m', '--key', 'colour'],
    'has the field colour. Name a field of the log with --key: address, user, agent,',
  ],
  [
    ['replay', madeLog, '--policy', '1/1m', '--format', 'xml'],
    '--format must be one of json, w3c, alb, envoy, haproxy, common, got "xml".',
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
  [['simulate', 'boundary', '--policy', '1/1s'], 'Write --workload boundary.'],
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
    'The first line is: "a". The lab reads Common and Combined Log Format, JSON lines (pino, Caddy,',
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
  expect(stdout).toContain('/\\u{1b}]0;own\\u{7}x\\u{1b}[2Jx…')
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
    expect(stderr).toMatch(/^No line of - has (a known format|a time that the lab knows|the field address)\. .*\n$/)
    expect([code, stdout]).toEqual([2, ''])
  }
})

test('several files are one log, in whatever order they are named', async () => {
  const lines = text.trimEnd().split('\n')
  const pieces = [
    lines.slice(0, 700),
    lines.slice(700).filter((_, n) => n % 2 === 0),
    lines.slice(700).filter((_, n) => n % 2),
  ]
  const files = pieces.map((piece, n) => {
    const file = join(home, `access.log.${n}${n === 0 ? '.gz' : ''}`)
    writeFileSync(file, n === 0 ? gzipSync(piece.join('\n')) : piece.join('\n'))
    return file
  })
  const args = ['--policy', '5/1m', '--policy', '10/1s']
  const [one, several] = await Promise.all([
    resultOf(['replay', madeLog, ...args]),
    resultOf(['replay', ...files.reverse(), ...args]),
  ])
  const numbers = ({ policies }) =>
    policies.map(({ refused, clientsAffected, clients }) => [refused, clientsAffected, clients])
  expect(numbers(several)).toEqual(numbers(one))
  expect([several.log.lines, several.log.late]).toEqual([1500, 0])
})

test('the fields of a JSON log that the lab does not know are listed', async () => {
  const line = '{"when":"2026-03-05","peer":{"ip":"198.51.100.1"}}\n'
  const { code, stderr } = await runLab(['replay', '-', '--policy', '1/1m'], line)
  expect([code, stderr]).toEqual([
    2,
    'No line of - has a time that the lab knows. The fields of the log are when, peer.ip. Say which fields have the time and the address: --fields time=ts,address=peer.ip\n',
  ])
  const known = await runLab(['replay', '-', '--policy', '1/1m', '--key', 'user'], line.replace('when', 'time'))
  expect(known.stderr).toBe('No line of - has the field user. Name a field of the log with --key: time, peer.ip.\n')
  const byPath = await resultOf(
    ['replay', '-', '--policy', '1/1m', '--key', 'peer.ip'],
    line.replace('when', 'time').repeat(3),
  )
  expect(byPath.policies[0].refused).toBe(2)
})

test('a wide table keeps its numbers on a terminal of 80 columns', async () => {
  const { stdout } = await promisify(execFile)('script', [
    '-qec',
    `stty cols 80; ${process.execPath} ${main} suggest ${madeLog}`,
    '/dev/null',
  ])
  const shown = stdout.slice(stdout.indexOf('Requests refused / clients affected'), stdout.indexOf('The least limits'))
  expect(shown).not.toContain('…')
  expect(shown).toContain('94.67 % / 80')
  const table = shown.split(/\r?\n/).filter((line) => line.startsWith('  '))
  expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(80)
})

test('a long text loses its middle, so that texts with one beginning differ', async () => {
  const log = ['a', 'b'].map((end) => jsonLine({ url: `/${'x'.repeat(80)}${end}` }).repeat(2)).join('')
  const { stdout } = await runLab(['replay', '-', '--policy', '1/1d'], log)
  for (const end of ['a', 'b']) expect(stdout).toMatch(new RegExp(`  \\S* ?/x+…x+${end}  `))
})

test('colours and the version', async () => {
  expect((await runLab(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  const { stdout } = await promisify(execFile)('script', [
    '-qec',
    `${process.execPath} ${main} replay ${madeLog} --policy 5/1m`,
    '/dev/null',
  ])
  expect(stdout.slice(stdout.lastIndexOf('Replay of'))).not.toContain('\u001b[')
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
