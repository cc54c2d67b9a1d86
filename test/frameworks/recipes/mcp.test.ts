import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { createApp } from '../.examples/mcp.ts'
import { verifier } from '../.examples/mcp-verifier.ts'

/* The program of docs/recipes/mcp.md, with the clients of the protocol's own package. */

const server = createApp(verifier).listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => {
  server.close()
  server.closeAllConnections()
})
const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)

/** A session of its own. */
async function connect(token: string) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
  onTestFinished(() => client.close())
  return client
}

async function call(client: Client, name: string, words: Record<string, unknown> = {}) {
  const { content, isError = false } = await client.callTool({ name, arguments: words })
  return { isError, text: (content as { text: string }[])[0]?.text }
}

test('a user has one quota, whatever the sessions and the clients; another user has another', async () => {
  const words = { query: 'gates' }
  const found = { isError: false, text: 'No book is about gates.' }
  for (const token of ['ann@desktop', 'ann@desktop', 'ann@phone']) {
    expect(await call(await connect(token), 'search', words)).toEqual(found)
  }
  const again = await connect('ann@editor')
  const refused = {
    isError: true,
    text: expect.stringMatching(/^Too many tool calls \(1m\)\. Try again in \d+ seconds\.$/),
  }
  expect(await call(again, 'search', words)).toEqual(refused)
  expect((await again.listTools()).tools).toHaveLength(2)
  expect(await call(await connect('bob@desktop'), 'search', words)).toEqual(found)
})

test('a tool costs its own units, and each call of one request counts', async () => {
  const calls = Array.from({ length: 4 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'search', arguments: { query: 'gates' } },
  }))
  const headers = {
    authorization: 'Bearer cleo@phone',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  const stream = await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(calls) })).text()
  expect(stream.match(/"isError":true/g)).toHaveLength(1)
  const client = await connect('cleo@desktop')
  expect(await call(client, 'search', { query: 'gates' })).toMatchObject({ isError: true })
})

test('a token without a user is refused by its verifier', async () => {
  await expect(connect('nobody')).rejects.toThrow('unknown token')
})
