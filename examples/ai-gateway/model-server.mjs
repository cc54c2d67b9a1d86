import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { countTokens } from './budget.mjs'

/**
 * A model server for the tests and the demo. It streams `words` words as server-sent events, then the usage. The field
 * `metadata` of a request says how: `{ id, words, ending }`. With `ending: 'wait'` it falls silent after them until the client
 * leaves; with `'break'` it does so until `breakOff(id)`; with `'error'` it answers with status 500.
 * @param {{ pause?: number }} [options] milliseconds after each word
 */
export function createModelServer({ pause = 0 } = {}) {
  /** What each request was sent, by its id. @type {Map<string, { prompt: number, completion: number }>} */
  const sent = new Map()
  const open = new Map()

  async function stream(request, response) {
    const { messages, max_tokens, metadata = {} } = JSON.parse(await text(request))
    const { id = '', words = 20, ending = 'end' } = metadata
    const usage = { prompt: 0, completion: 0 }
    sent.set(id, usage)
    open.set(id, response)
    if (ending === 'error') return response.writeHead(500).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let word = 0; word < Math.min(words, max_tokens) && !response.destroyed; word++) {
      usage.prompt ||= messages.reduce((tokens, message) => tokens + tokensOf(message), 0)
      usage.completion++
      send(response, { choices: [{ delta: { content: ` word${word}` } }] })
      await sleep(pause)
    }
    if (ending !== 'end') return
    send(response, { choices: [], usage: { prompt_tokens: usage.prompt, completion_tokens: usage.completion } })
    response.end('data: [DONE]\n\n')
  }

  const server = createServer((request, response) => void stream(request, response))
  return {
    sent,
    /** Breaks off the stream of that id. */
    breakOff: (id) => open.get(id)?.destroy(),
    /** Resolves to the address once the server listens. */
    async listen() {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      return `http://127.0.0.1:${port}/v1/chat/completions`
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A real model reads every field of a message, not only its content. */
function tokensOf({ role, content, ...others }) {
  return Object.values(others).reduce(
    (tokens, other) => tokens + countTokens(JSON.stringify(other)),
    countTokens(content),
  )
}

function send(response, event) {
  response.write(`data: ${JSON.stringify(event)}\n\n`)
}
