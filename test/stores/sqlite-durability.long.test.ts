/* What a file of SQLite has forgotten of a month after a process was killed, or after the machine lost its power. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { RateLimiter } from '../../src/index.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { inDepth } from '../support/depth.ts'
import { midMonth } from '../support/mid-month.mjs'
import { temporaryFolder } from '../support/sqlite.ts'
import { isSync, type SystemCall, systemCalls, traced } from '../support/trace.ts'

const worker = fileURLToPath(new URL('../support/sqlite-worker.mjs', import.meta.url))
const folder = temporaryFolder()
let files = 0
const newPath = () => join(folder, `${files++}.db`)

/** The units that the file has. */
async function usedIn(path: string): Promise<number> {
  const database = new Database(path)
  const store = sqliteStore({ database })
  const limiter = new RateLimiter({ name: 'api', policies: calendarWindow(midMonth), store, onStoreError: 'throw' })
  const { policies } = await limiter.usage('ann')
  database.close()
  return policies[0]?.used as number
}

function ended(process: ChildProcess): Promise<void> {
  return new Promise((resolve) => process.on('close', () => resolve()))
}

test.each(['normal', 'full'] as const)(
  'a process that is killed while it writes, synchronous %s: every answered unit is used',
  async (synchronous) => {
    for (let round = 0; round < 3; round++) {
      const path = newPath()
      const process = spawn('node', [worker, path, synchronous, '1000000'], { stdio: ['ignore', 'pipe', 'inherit'] })
      let output = ''
      process.stdout.on('data', (text) => {
        output += text
        if (output.length > 2000 * (round + 1)) process.kill('SIGKILL')
      })
      await ended(process)
      const answered = Number(/answered (\d+)\n[^\n]*$/.exec(output)?.[1])
      expect(answered).toBeGreaterThan(100)
      const used = await usedIn(path)
      expect(used).toBeGreaterThanOrEqual(answered)
      expect(used).toBeLessThanOrEqual(answered + 1)
    }
  },
)

/** A write to a file, or a sync. */
interface Traced {
  readonly name: string
  readonly file: string
  readonly data: Buffer
  readonly offset: number
}

/** Runs the worker under strace. Returns its writes and syncs, in their order. */
async function trace(path: string, synchronous: SqliteStoreOptions['synchronous'], calls: number, bytes: boolean) {
  const log = `${path}.strace`
  const data = bytes ? ['-xx', '-s', '5000'] : ['-s', '24']
  const [strace = '', ...args] = traced(log, 'pwrite64,fsync,fdatasync,write,ftruncate', data)
  const words = [...args, 'node', worker, path, String(synchronous), String(calls)]
  await ended(spawn(strace, words, { stdio: ['ignore', 'ignore', 'inherit'] }))
  return (await systemCalls(log)).map(decode)
}

/** A call such as `pwrite64(20</tmp/a.db-wal>, "\x37...", 24, 0) = 24`. */
function decode({ name, file, rest }: SystemCall): Traced {
  const path = file.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const [, text = '', , offset] = /^, "([^"]*)"(?:\.\.\.)?(?:, (\d+))?(?:, (\d+))?\)/.exec(rest) ?? []
  const data = text.startsWith('\\x') ? Buffer.from(text.replaceAll('\\x', ''), 'hex') : Buffer.from(text)
  return { name, file: path, data, offset: Number(offset ?? 0) }
}

const isAnswer = ({ name, data }: Traced) => name === 'write' && data.toString().startsWith('answered')

test('with synchronous full, the log is on the disk before each answer', async () => {
  const path = newPath()
  const calls = inDepth ? 10_000 : 1000
  const events = await trace(path, 'full', calls, false)
  let synced = false
  let missing = 0
  let answers = 0
  for (const event of events) {
    if (event.file === `${path}-wal`) synced = isSync(event)
    if (!isAnswer(event)) continue
    answers++
    if (!synced) missing++
    synced = false
  }
  expect({ answers, missing }).toEqual({ answers: calls, missing: 0 })
}, 300_000)

test('with synchronous full, the file as of any sync has every unit that was answered by then', async () => {
  const path = newPath()
  const log = `${path}-wal`
  const events = await trace(path, 'full', 200, true)
  const disk = new Map<string, Buffer>([
    [path, Buffer.alloc(0)],
    [log, Buffer.alloc(0)],
  ])
  const pending: Traced[] = []
  let answered = 0
  let checked = 0
  for (const event of events) {
    if (isAnswer(event)) answered = Number(/\d+/.exec(String(event.data))?.[0])
    if (!disk.has(event.file)) continue
    if (!isSync(event)) {
      pending.push(event)
      continue
    }
    // What was not synced is lost: of both files only what a sync has reached is there.
    for (const write of pending.filter(({ file }) => file === event.file)) apply(disk, write)
    pending.splice(0, pending.length, ...pending.filter(({ file }) => file !== event.file))
    if (answered === 0) continue
    const copy = newPath()
    writeFileSync(copy, disk.get(path) as Buffer)
    writeFileSync(`${copy}-wal`, disk.get(log) as Buffer)
    expect(await usedIn(copy)).toBeGreaterThanOrEqual(answered)
    checked++
  }
  expect(checked).toBeGreaterThan(190)
}, 300_000)

function apply(disk: Map<string, Buffer>, { name, file, data, offset }: Traced): void {
  const before = disk.get(file) as Buffer
  if (name === 'ftruncate') return
  const after = Buffer.alloc(Math.max(before.length, offset + data.length))
  before.copy(after)
  data.copy(after, offset)
  disk.set(file, after)
}
