import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryStore, type RateLimiter } from 'headgate'
import { ManualClock } from 'headgate/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { costOf } from '../../examples/ai-gateway/budget.mjs'
import { createApp } from '../../examples/ai-gateway/express-app.mjs'
import { createHandler } from '../../examples/ai-gateway/fetch-app.mjs'
import { createModelServer } from '../../examples/ai-gateway/model-server.mjs'
import { Usage } from '../../examples/ai-gateway/usage.mjs'
import { headgateWarnings } from '../support/headgate-warnings.ts'
import { seededRandom } from '../support/seeded-random.ts'

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

const limits = { requests: 60, tokens: 10_000, microdollars: 1_000_000, atOnce: 4 }

interface Gateway {
  readonly limiter: RateLimiter
  ask(key: string, body: object, signal?: AbortSignal): Promise<Response>
}

/** What the model server does for a request. */
interface Script {
  id: string
  words?: number
  ending?: 'end' | 'wait' | 'break' | 'error'
}

let model: ReturnType<typeof createModelServer>
let modelUrl: string
let servers: Server[] = []
let names = 0
const newId = () => `request-${++names}`

beforeEach(async () => {
  model = createModelServer()
  modelUrl = await model.listen()
})

afterEach(() => {
  model.close()
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
  servers = []
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`
}

function post(key: string, body: object, signal: AbortSignal | undefined): RequestInit {
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  return { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null }
}

/** The time stands still, so nothing drains, and what counts is exactly what was used. */
const still = () => memoryStore({ clock: new ManualClock().now })

const gateways: Record<string, (given?: Partial<typeof limits>) => Promise<Gateway>> = {
  async express(given) {
    const app = createApp({ modelUrl, limits: { ...limits, ...given }, store: still() })
    const url = await listen(app)
    return { limiter: app.limiter, ask: (key, body, signal) => fetch(url, post(key, body, signal)) }
  },
  async fetch(given) {
    const handler = createHandler({ modelUrl, limits: { ...limits, ...given }, store: still() })
    return {
      limiter: handler.limiter,
      ask: (key, body, signal) => handler(new Request('http://gateway/', post(key, body, signal))),
    }
  },
}

const bodyOf = (script: Script, prompt = 'one two three', most = 50) => ({
  messages: [{ role: 'user', content: prompt }],
  max_tokens: most,
  metadata: script,
})

/** Reads a response until so many words have come, or to its end. */
async function readWords(response: Response, words = Infinity): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  for (let text = ''; text.split('"content"').length - 1 < words; ) {
    const { done, value } = await reader.read()
    if (done) return
    text += decoder.decode(value, { stream: true })
  }
  reader.releaseLock()
}

/** Plays one request as its script says: to the end, or until client or server break off. */
async function play({ ask }: Gateway, key: string, script: Required<Script>, body = bodyOf(script)): Promise<number> {
  const left = new AbortController()
  const response = await ask(key, body, left.signal)
  if (!response.ok) {
    await response.text()
    return response.status
  }
  if (script.ending === 'end') await readWords(response)
  else await readWords(response, script.words)
  if (script.ending === 'wait') left.abort()
  if (script.ending === 'break') {
    model.breakOff(script.id)
    await readWords(response).catch(() => undefined) // as any server does
  }
  return response.status
}

async function used({ limiter }: Gateway, key: string): Promise<Record<string, number>> {
  const { policies } = await limiter.peek(key, { cost: { requests: 1, tokens: 1, microdollars: 1, 'at-once': 1 } })
  return Object.fromEntries(policies.map((policy) => [policy.name, policy.used]))
}

/** What the model server sent for these requests, as the policies count it. */
function due(ids: readonly string[]): Record<string, number> {
  const total = { requests: ids.length, tokens: 0, microdollars: 0, 'at-once': 0 }
  for (const id of ids) {
    const { tokens, microdollars } = costOf(model.sent.get(id) ?? { prompt: 0, completion: 0 })
    total.tokens += tokens
    total.microdollars += microdollars
  }
  return total
}

const patient = { timeout: 10_000 }

// Node 20 and 22 never close a response that waits behind another one on its connection.
test('pipelined requests whose client leaves are settled, and their streams end', async () => {
  const app = createApp({ modelUrl, limits, store: still() })
  const { hostname, port } = new URL(await listen(app))
  const ids = [newId(), newId(), newId(), newId()]
  const requests = ids.map((id) => {
    const body = JSON.stringify(bodyOf({ id, words: 2, ending: 'wait' }))
    const fields = `Host: a\r\nX-Api-Key: ann\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
    return `POST /v1/chat/completions HTTP/1.1\r\n${fields}\r\n\r\n${body}`
  })
  const client = connect(Number(port), hostname).resume()
  client.write(requests.join(''))
  await expect.poll(() => ids.every((id) => model.sent.get(id)?.completion === 2), patient).toBe(true)
  client.destroy()
  await expect.poll(() => used({ limiter: app.limiter } as Gateway, 'ann'), patient).toEqual(due(ids))
})

describe.each(Object.entries(gateways))('%s', (_name, createGateway) => {
  test('a prompt in another field of a message does not reach the model, and no role is a prompt', async () => {
    const gateway = await createGateway()
    const script = { id: newId(), words: 1, ending: 'wait' } as const
    const body = bodyOf(script)
    const long = 'word '.repeat(5000)
    const messages = body.messages.map((message) => ({ ...message, tool_calls: [{ arguments: long }] }))
    const hidden = { ...body, messages }
    expect(await play(gateway, 'ann', script, hidden)).toBe(200)
    await expect.poll(() => used(gateway, 'ann')).toEqual(due([script.id]))
    const role = { ...body, messages: [{ role: long, content: '' }] }
    expect(await play(gateway, 'ann', script, role)).toBe(400)
  })

  test('a stream costs what the model used, and the estimate is held while it runs', async () => {
    const gateway = await createGateway()
    const script = { id: newId(), words: 7, ending: 'wait' } as const
    const left = new AbortController()
    const response = await gateway.ask('ann', bodyOf(script), left.signal)
    await readWords(response, 7)
    expect(await used(gateway, 'ann')).toEqual({ requests: 1, tokens: 53, microdollars: 9 + 750, 'at-once': 1 })
    left.abort()
    await expect.poll(() => used(gateway, 'ann')).toEqual({ requests: 1, tokens: 10, microdollars: 114, 'at-once': 0 })
  })

  test('the answer of the model arrives unchanged', async () => {
    const gateway = await createGateway()
    const response = await gateway.ask('ann', bodyOf({ id: newId(), words: 2 }))
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('ratelimit')).toMatch(/"tokens";r=9947\b/)
    expect(await response.text()).toBe(
      'data: {"choices":[{"delta":{"content":" word0"}}]}\n\n' +
        'data: {"choices":[{"delta":{"content":" word1"}}]}\n\n' +
        'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
    )
  })

  test.each([
    ['ends', 'end', 9],
    ['breaks off', 'break', 9],
    ['is left by the client', 'wait', 9],
    ['is refused by the model server', 'error', 0],
  ] as const)('a stream that %s costs exactly what was sent', async (_how, ending, words) => {
    const gateway = await createGateway()
    const id = newId()
    const status = await play(gateway, 'ann', { id, words, ending })
    expect(status).toBe(ending === 'error' ? 502 : 200)
    await expect.poll(() => used(gateway, 'ann')).toEqual(due([id]))
    expect(due([id]).tokens).toBe(ending === 'error' ? 0 : 12)
  })

  test('a client that cancels the body has left', async () => {
    const gateway = await createGateway()
    const id = newId()
    const response = await gateway.ask('ann', bodyOf({ id, words: 4, ending: 'wait' }))
    await readWords(response, 4)
    await response.body?.cancel()
    await expect.poll(() => used(gateway, 'ann')).toEqual(due([id]))
    expect(due([id]).tokens).toBe(7)
  })

  test('a model that fails before its first byte costs one request, and a client that leaves then pays its prompt', async () => {
    const gateway = await createGateway()
    const ids = [newId(), newId()] as const
    const broken = gateway.ask('ann', bodyOf({ id: ids[0], words: 0, ending: 'break' }))
    await expect.poll(() => model.sent.has(ids[0])).toBe(true)
    model.breakOff(ids[0])
    const response = await broken
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('not available')])
    const left = new AbortController()
    const leaving = gateway
      .ask('ann', bodyOf({ id: ids[1], words: 0, ending: 'wait' }), left.signal)
      .catch(() => undefined)
    await expect.poll(() => model.sent.has(ids[1])).toBe(true)
    left.abort()
    await leaving
    const prompt = { requests: 2, tokens: 3, microdollars: 9, 'at-once': 0 }
    await expect.poll(() => used(gateway, 'ann')).toEqual(prompt)
  })

  test.each([
    ['requests', { requests: 1 }],
    ['tokens', { tokens: 60 }],
    ['microdollars', { microdollars: 1000 }],
    ['at-once', { atOnce: 1 }],
  ])('a refusal by %s says so, takes nothing, and never reaches the model', async (policy, given) => {
    const gateway = await createGateway(given)
    const left = new AbortController()
    const response = await gateway.ask('ann', bodyOf({ id: newId(), words: 1, ending: 'wait' }), left.signal)
    await readWords(response, 1)
    const before = await used(gateway, 'ann')
    const refused = await gateway.ask('ann', bodyOf({ id: 'refused' }))
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const body = (await refused.json()) as { policy?: string; 'violated-policies'?: string[] }
    expect(body.policy ?? body['violated-policies']?.join()).toBe(policy)
    expect(await used(gateway, 'ann')).toEqual(before)
    expect((await gateway.ask('bob', bodyOf({ id: newId() }))).status).toBe(200)
    expect(model.sent.has('refused')).toBe(false)
    left.abort()
  })

  test.each([
    ['no key', '', bodyOf({ id: 'x' })],
    ['no messages', 'ann', { max_tokens: 5 }],
    ['no bound', 'ann', { messages: [{ content: 'hello' }] }],
  ])('a request with %s is refused before the limiter', async (_what, key, body) => {
    const gateway = await createGateway()
    expect((await gateway.ask(key, body)).status).toBe(400)
    expect(await used(gateway, 'ann')).toEqual({ requests: 0, tokens: 0, microdollars: 0, 'at-once': 0 })
  })

  test('64 streams at once with random ends are charged exactly what was sent', async () => {
    const gateway = await createGateway()
    const random = seededRandom(20_26)
    const keys = Array.from({ length: 16 }, (_, n) => `key-${n}`)
    const ids = new Map(keys.map((key) => [key, [] as string[]]))
    const ends = ['end', 'end', 'wait', 'break', 'error'] as const
    async function client(key: string): Promise<void> {
      for (let n = 0; n < 3; n++) {
        const script = { id: newId(), words: 1 + random(40), ending: ends[random(ends.length)] ?? 'end' }
        const prompt = 'word '.repeat(1 + random(30))
        const ask = () => play(gateway, key, script, bodyOf(script, prompt))
        let status = await ask()
        // The client knows that its stream has ended before the gateway has freed its unit.
        for (; status === 429; status = await ask()) await sleep(2)
        expect(status).toBe(script.ending === 'error' ? 502 : 200)
        ids.get(key)?.push(script.id)
      }
    }
    await Promise.all(keys.flatMap((key) => [client(key), client(key), client(key), client(key)]))
    for (const key of keys) await expect.poll(() => used(gateway, key)).toEqual(due(ids.get(key) ?? []))
    expect(model.sent.size).toBe(16 * 4 * 3)
  })
})

describe('usage', () => {
  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
  const text = event({ choices: [{ delta: { content: 'schöne\u2003Grüße' } }] })

  test.each([1, 2, 3, 1000])('is read from chunks of %i bytes, wherever they are cut', (size) => {
    const usage = new Usage({ messages: [{ content: 'a b c' }] })
    const bytes = new TextEncoder().encode(`: ping\n\n${text}${text}`)
    for (let at = 0; at < bytes.length; at += size) usage.read(bytes.subarray(at, at + size))
    expect(usage.cost).toEqual(costOf({ prompt: 3, completion: 4 }))
  })

  test('is what the last event says', () => {
    const usage = new Usage({ messages: [{ content: 'a b c' }] })
    for (const odd of [
      'data: {broken\n\n',
      event({ choices: [{ finish_reason: 'stop' }] }),
      event({ choices: null, usage: {} }),
    ])
      usage.read(new TextEncoder().encode(odd))
    const last = event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 25 } })
    usage.read(new TextEncoder().encode(`${text}${last}data: [DONE]\n\n`))
    expect(usage.cost).toEqual(costOf({ prompt: 10, completion: 25 }))
  })
})
