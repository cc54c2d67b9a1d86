import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from './at-exit.ts'
import { freePort } from './ports.ts'

/** A single sentinel that watches one master. It is a quorum of one, and ends with the process of the test. */
export async function startSentinel(master: number): Promise<{ port: number; stop: () => void }> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'headgate-sentinel-'))
  const file = join(folder, 'sentinel.conf')
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor gate 127.0.0.1 ${master} 1`,
    'sentinel down-after-milliseconds gate 500',
    'sentinel failover-timeout gate 3000',
  ]
  writeFileSync(file, settings.join('\n'))
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  const stop = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  atExit(stop)
  return { port, stop }
}
