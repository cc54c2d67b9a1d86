/*
 * npm run measure --prefix lab: replays a made log of 5 million lines, and prints the lines a second, by the clock and by the CPU
 * time of all threads, and the memory after each million. `-- 2` makes it 2 million.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { policy } from 'headgate'
import { readLog } from './commands/read-log.mjs'
import { Replay } from './engine/replay.mjs'
import { writeMadeLog } from './test/support/made-log.mjs'

const million = 1_000_000
const millions = Number(process.argv[2] ?? 5)
const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
const file = join(home, 'made.log')
await writeMadeLog(file, { lines: millions * million, clients: 20_000, perSecond: 500, seed: 1 })

const replay = new Replay([{ text: '30/1m', policy: policy('30/1m') }])
const before = process.cpuUsage().user
const { lines, seconds: read } = await readLog(
  [file],
  { key: 'address', ipv6Prefix: 56, format: undefined, fields: undefined },
  (client, record) => {
    replay.request(client, record)
    if (replay.requests % million === 0) report(replay.requests / million)
  },
)
const seconds = (process.cpuUsage().user - before) / million
const perCpuSecond = Math.round((millions * million) / seconds)
console.log(
  `${Math.round(lines / read)} lines a second, ${perCpuSecond} a second of CPU, ${replay.result().clients} clients`,
)
rmSync(home, { recursive: true })

function report(done) {
  const megabytes = (bytes) => Math.round(bytes / million)
  globalThis.gc?.() // what is still used, and not what waits to be collected
  const { rss, heapUsed } = process.memoryUsage()
  console.log(`${done} million: resident ${megabytes(rss)} MB, heap ${megabytes(heapUsed)} MB`)
}
