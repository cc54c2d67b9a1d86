import { byHeader, memoryStore } from 'headgate'
import { rateLimit } from 'headgate/fetch'
import { askModel } from './ask-model.mjs'
import { budget, estimateOf, policiesOf, problemOf } from './budget.mjs'
import { Usage } from './usage.mjs'

/**
 * The same gateway as a fetch handler, for any runtime.
 * @param {{ modelUrl: string, limits?: typeof budget, store?: import('headgate').Store }} options
 */
export function createHandler({ modelUrl, limits = budget, store = memoryStore() }) {
  const limit = rateLimit({
    name: 'gateway',
    policies: policiesOf(limits),
    keys: byHeader('x-api-key'),
    cost: ({ context: body }) => estimateOf(body),
    settle: true,
    headers: 'draft-11',
    problem: true,
    store,
  })

  /** The second argument is the parsed body: what the functions of the limiter get as context. */
  const complete = limit.wrap(async (request, body) => {
    const usage = new Usage(body)
    const settle = () => request.rateLimit.settle(usage.cost)
    try {
      const stream = await askModel(modelUrl, body, usage, request.signal)
      return new Response(metered(stream, usage, settle), { headers: { 'content-type': 'text/event-stream' } })
    } catch {
      await settle()
      return Response.json({ error: 'The model is not available.' }, { status: 502 })
    }
  })

  /** @param {Request} request */
  async function handle(request) {
    /** @type {any} */
    const body = await request.json().catch(() => undefined)
    const problem = request.headers.get('x-api-key') ? problemOf(body) : 'Which x-api-key?'
    return problem === undefined ? complete(request, body) : Response.json({ error: problem }, { status: 400 })
  }
  return Object.assign(handle, { limiter: limit.limiter })
}

/** The stream, read for its usage as the client takes it. It is settled once, however it ends. */
function metered(stream, usage, settle) {
  const reader = stream.getReader()
  reader.closed.catch(settle) // broken off, even if nobody reads
  const source = {
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) {
        await settle()
        controller.close()
      } else {
        usage.read(value)
        controller.enqueue(value)
      }
    },
    async cancel(reason) {
      await settle()
      await reader.cancel(reason)
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
