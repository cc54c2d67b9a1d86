import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { project, run } from '../support/project.ts'

/* An application of Next with the pages router, with the settings of TypeScript that Next writes by itself. */

const next = join(import.meta.dirname, 'node_modules/next/dist/bin/next')
const env = { NEXT_TELEMETRY_DISABLED: '1' }

const folder = project(
  'pages',
  {
    'package.json': { private: true },
    'next.config.js': 'module.exports = { outputFileTracingRoot: __dirname }',
    'pages/index.tsx': 'export default function Home() { return null }',
    'pages/api/limited.ts': `
import type { NextApiRequest, NextApiResponse } from 'next'
import { type Decision, RateLimiter } from 'headgate'
import limit, { type Options } from 'headgate/compat/express-rate-limit'

const options: Partial<Options> = { limit: 2 }
const limiter = new RateLimiter({ policies: '2/1h' })

export default function handler(request: NextApiRequest, response: NextApiResponse) {
  const decision: Decision = limiter.consumeSync('everybody')
  response.status(decision.allowed ? 200 : 429).json({ made: typeof limit(options) })
}
`,
  },
  import.meta.dirname,
)

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const servers: ReturnType<typeof spawn>[] = []
afterAll(() => {
  for (const server of servers) server.kill()
})

test('next build compiles with moduleResolution node, and the application limits', async () => {
  run(process.execPath, [next, 'build'], folder, env)
  const { compilerOptions } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8'))
  expect(compilerOptions.moduleResolution).toBe('node')

  const port = await freePort()
  const server = spawn(process.execPath, [next, 'start', '-p', `${port}`, '-H', '127.0.0.1'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  servers.push(server)
  let log = ''
  for await (const text of server.stdout) {
    log += text
    if (/ready in/i.test(log)) break
  }
  const url = `http://127.0.0.1:${port}/api/limited`
  const responses = [await fetch(url), await fetch(url), await fetch(url)]
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(await responses[2]?.json()).toEqual({ made: 'function' })
})
