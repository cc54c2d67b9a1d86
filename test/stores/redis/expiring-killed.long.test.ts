/* A process that is killed with open reservations: what is used afterwards. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import { expect, test } from 'vitest'
import { calendarWindow } from '../../../src/calendar/index.ts'
import { RateLimiter, type Store } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { temporaryFolder } from '../../support/sqlite.ts'
import { useRedis } from '../../support/use-server.ts'

const { server, client } = await useRedis()
const folder = temporaryFolder()
const worker = fileURLToPath(new URL('../../support/expiring-worker.mjs', import.meta.url))
/** A window that began half a year ago, so that it does not end during the test. */
const anchor = new Date(Date.now() - 183 * 86_400_000).toISOString().slice(0, 10)

/** Kills the worker after so many lines of output, or when it is ready. Returns its lines. */
async function linesUntilKilled(task: object, lines: number): Promise<string[]> {
  const child = spawn('node', [worker, JSON.stringify({ ...task, anchor })], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
    if (output.endsWith('ready\n') || output.split('\n').length > lines) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return output.split('\n').filter((line) => line !== '')
}

/** How many units the key has used after so many minutes. */
async function usedAfter(minutes: number, storeWith: (clock: () => number) => Store): Promise<number> {
  const store = storeWith(() => (Date.now() + minutes * 60_000) * 1000)
  const policies = calendarWindow({ limit: 100_000, every: 'year', anchor })
  const limiter = new RateLimiter({ name: 'killed', policies, store, onStoreError: 'throw' })
  return (await limiter.usage('ann')).policies[0]?.used as number
}

function sum(lines: readonly string[], verb: string): number {
  return lines.reduce((units, line) => units + (line.startsWith(verb) ? Number(line.split(' ')[1]) : 0), 0)
}

test.each(['Redis', 'SQLite'])(
  '%s: used is what was settled, once the reservations of a killed process expire',
  async (kind) => {
    for (const lines of [Infinity, 7, 40, 91]) {
      const path = join(folder, `${lines}.db`)
      if (kind === 'Redis') await client.flushall()
      const written = await linesUntilKilled(kind === 'Redis' ? { port: server.port } : { path }, lines)
      const settled = sum(written, 'settled')
      const settlements = written.filter((line) => line.startsWith('settled')).length
      const open = sum(written, 'reserved') - 7 * settlements
      const storeWith = (clock: () => number) =>
        kind === 'Redis'
          ? redisStore({ client, clock, timeout: '10s' })
          : sqliteStore({ database: new Database(path), clock, timeout: '10s' })
      const [before, after] = [await usedAfter(0, storeWith), await usedAfter(10, storeWith)]
      if (lines === Infinity) {
        expect(written.at(-1)).toBe('ready')
        expect([settlements, open]).toEqual([100, 350])
        expect([before, after]).toEqual([settled + 350, settled])
        continue
      }
      // A call whose answer nobody has read may have counted. The worker settles in a fixed order.
      const possible = Array.from({ length: 151 }, (_, n) => sumOfFirst(n))
      expect(possible).toContain(after)
      expect(after).toBeGreaterThanOrEqual(settled)
      expect(before).toBeGreaterThanOrEqual(after)
    }
  },
  120_000,
)

/** The units that the worker has settled after its first `n` reservations. */
function sumOfFirst(n: number): number {
  return Array.from({ length: n }, (_, k) => (k % 3 === 0 ? 0 : k % 12)).reduce((a, b) => a + b, 0)
}
