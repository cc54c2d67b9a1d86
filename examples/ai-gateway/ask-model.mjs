/**
 * Sends a request to the model server. If the server refuses or fails, throws, and the request costs nothing. If the client
 * leaves before the answer, throws too, and the request costs its prompt.
 */
export async function askModel(url, request, usage, signal) {
  try {
    return await answerOf(url, request, signal)
  } catch (error) {
    if (!signal.aborted) usage.clear()
    throw error
  }
}

async function answerOf(url, { messages, max_tokens, metadata }, signal) {
  // The estimate counts the content of a message. Another field, such as `tool_calls`, may be a long prompt too, so it is not sent.
  const counted = messages.map(({ role, content }) => ({ role, content }))
  const body = { messages: counted, max_tokens, metadata, stream: true, stream_options: { include_usage: true } }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
  if (answer.ok) return answer.body
  await answer.body?.cancel()
  throw new Error(`The model server answered with status ${answer.status}.`)
}
