import { concurrency, fixedWindow, slidingWindow, tokenBucket } from 'headgate'

/** What each API key gets. Money is counted in micro-dollars: 20 dollars a day. */
export const budget = { requests: 60, tokens: 100_000, microdollars: 20_000_000, atOnce: 4 }

/** Policies of one decision: either all of them admit a request, or nothing is taken. */
export function policiesOf({ requests, tokens, microdollars, atOnce }) {
  return [
    slidingWindow({ name: 'requests', limit: requests, window: '1m' }),
    tokenBucket({ name: 'tokens', limit: tokens, window: '1m' }),
    fixedWindow({ name: 'microdollars', limit: microdollars, window: '1d' }),
    concurrency({ name: 'at-once', limit: atOnce, lease: '30s' }),
  ]
}

/**
 * Micro-dollars for one token: 3 dollars for a million tokens in, 15 dollars for a million tokens out. A token costs a
 * fraction of a cent, so cents would round each request up. Whole micro-dollars are exact: no sum of them ever rounds.
 */
const price = { prompt: 3, completion: 15 }

/** What these tokens cost under the policies that are settled. A request stays one request, whatever it used. */
export function costOf({ prompt, completion }) {
  return { tokens: prompt + completion, microdollars: prompt * price.prompt + completion * price.completion }
}

/** What a request costs at most: its prompt, and the longest completion that it allows. */
export function estimateOf({ messages, max_tokens: completion }) {
  const prompt = messages.reduce((tokens, { content }) => tokens + countTokens(content), 0)
  return { requests: 1, 'at-once': 1, ...costOf({ prompt, completion }) }
}

/** The words of a text. Use the tokenizer of your model here. */
export function countTokens(text) {
  return text.trim().split(/\s+/).filter(Boolean).length
}

/** What is wrong with a request, or undefined. Without a bound of its completion, no estimate would hold. */
export function problemOf(body) {
  const { messages, max_tokens: most } = body ?? {}
  if (!Array.isArray(messages) || !messages.every(isMessage)) return 'Which messages?'
  return Number.isSafeInteger(most) && most > 0 && most <= 4096 ? undefined : 'max_tokens is a whole number up to 4096.'
}

function isMessage(message) {
  return typeof message?.content === 'string' && [undefined, 'system', 'user', 'assistant'].includes(message.role)
}
