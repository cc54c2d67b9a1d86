import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

const server = await useServer(startRedis())

test('the fleet example: two processes share one limit', async () => {
  const main = fileURLToPath(new URL('../../../examples/fleet/main.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [main], {
    env: { ...process.env, REDIS_PORT: `${server.port}` },
  })
  const lines = stdout.trim().split('\n').slice(2)
  expect(lines.map((line) => line.trim().slice(0, 3))).toEqual([
    ...Array.from({ length: 10 }, () => '200'),
    '429',
    '429',
  ])
  expect(lines[1]).toContain('process two  left: 8')
})
