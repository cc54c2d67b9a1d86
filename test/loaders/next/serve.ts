import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { run } from '../support/project.ts'

const next = join(import.meta.dirname, 'node_modules/next/dist/bin/next')
const env = { NEXT_TELEMETRY_DISABLED: '1' }

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Builds an application of Next and starts it until the test ends. Returns its port. */
export async function buildAndStart(folder: string): Promise<number> {
  run(process.execPath, [next, 'build'], folder, env)
  const port = await freePort()
  const server = spawn(process.execPath, [next, 'start', '-p', `${port}`, '-H', '127.0.0.1'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void server.kill())
  let log = ''
  for await (const text of server.stdout) {
    log += text
    if (/ready in/i.test(log)) break
  }
  server.stdout.resume()
  return port
}
