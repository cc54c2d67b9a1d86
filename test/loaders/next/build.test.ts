import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { project } from '../support/project.ts'
import { buildAndStart } from './serve.ts'

/* An application of Next with the pages router, with the settings of TypeScript that Next writes by itself. */

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

test('next build compiles with moduleResolution node, and the application limits', async () => {
  const port = await buildAndStart(folder)
  const { compilerOptions } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8'))
  expect(compilerOptions.moduleResolution).toBe('node')
  const url = `http://127.0.0.1:${port}/api/limited`
  const responses = [await fetch(url), await fetch(url), await fetch(url)]
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(await responses[2]?.json()).toEqual({ made: 'function' })
})
