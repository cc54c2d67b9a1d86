/** Sends a request to the model server. An error of the server, or no answer, throws. */
export async function askModel(url, request, signal) {
  const { messages, max_tokens, metadata } = request
  const body = { messages, max_tokens, metadata, stream: true, stream_options: { include_usage: true } }
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
