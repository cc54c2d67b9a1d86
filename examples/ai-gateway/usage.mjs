import { costOf, countTokens, estimateOf } from './budget.mjs'

/**
 * Reads the usage of a request from its stream of server-sent events. The last event tells it. A request costs its prompt
 * as soon as it is sent, even if the client leaves before the first token. A stream that breaks off has cost its prompt, and
 * the tokens that have come.
 */
export class Usage {
  #decoder = new TextDecoder()
  #text = ''
  #used

  /** @param {{ messages: { content: string }[] }} request */
  constructor({ messages }) {
    this.#used = { prompt: estimateOf({ messages, max_tokens: 0 }).tokens, completion: 0 }
  }

  /** The model server has refused the request, or failed before its answer began: the request costs nothing. */
  clear() {
    this.#used = { prompt: 0, completion: 0 }
  }

  /** For `settle`: the true cost so far. */
  get cost() {
    return costOf(this.#used)
  }

  /** @param {Uint8Array} bytes may begin and end inside an event, or inside a character */
  read(bytes) {
    const lines = (this.#text + this.#decoder.decode(bytes, { stream: true })).split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: {')) this.#count(line.slice('data: '.length))
  }

  #count(event) {
    const { choices, usage } = parsed(event)
    const { prompt_tokens: prompt, completion_tokens: completion } = usage ?? {}
    if (Number.isSafeInteger(prompt) && Number.isSafeInteger(completion)) this.#used = { prompt, completion }
    else for (const choice of choices ?? []) this.#used.completion += countTokens(choice?.delta?.content ?? '')
  }
}

/** A broken event goes on to the client and counts no tokens: it must not end the stream before the request is settled. */
function parsed(event) {
  try {
    return JSON.parse(event)
  } catch {
    return {}
  }
}
