import { RateLimiter } from 'headgate'
import { askModel } from './ask-model.mjs'
import { budget, estimateOf, policiesOf, problemOf } from './budget.mjs'
import { Usage } from './usage.mjs'

/**
 * A handler for any runtime, on the limiter itself.
 * @param {{ modelUrl: string, limits?: typeof budget, store?: import('headgate').Store }} options
 */
export function createHandler({ modelUrl, limits = budget, store }) {
  const limiter = new RateLimiter({ policies: policiesOf(limits), store })

  /** @param {Request} request */
  async function handle(request) {
    const key = request.headers.get('x-api-key')
    /** @type {any} */
    const body = await request.json().catch(() => undefined)
    const problem = key ? problemOf(body) : 'Which x-api-key?'
    if (problem !== undefined) return Response.json({ error: problem }, { status: 400 })

    const reservation = await limiter.reserve(key, { cost: estimateOf(body) })
    if (!reservation.allowed) return refusal(reservation.decision)

    const usage = new Usage(body)
    const renewal = setInterval(() => reservation.renew().catch(console.error), 10_000) // a third of the lease
    const settle = () => {
      clearInterval(renewal)
      return reservation.settle(usage.cost).catch(console.error) // also frees the unit of `at-once`
    }
    try {
      const stream = await askModel(modelUrl, body, request.signal)
      const headers = { 'content-type': 'text/event-stream', ...fieldsOf(reservation.decision) }
      return new Response(metered(stream, usage, settle), { headers })
    } catch {
      await settle()
      return Response.json({ error: 'The model is not available.' }, { status: 502 })
    }
  }
  return Object.assign(handle, { limiter })
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

/** The refusal names the binding policy: the one with the longest wait. */
function refusal(decision) {
  const { policy, retryAfter } = decision
  const never = retryAfter === Infinity
  const message = never ? 'This request can never fit.' : `Try again in ${Math.ceil(retryAfter / 1000)} s.`
  return Response.json({ error: 'Too many requests.', policy, message }, { status: 429, headers: fieldsOf(decision) })
}

function fieldsOf({ policies, retryAfter }) {
  const left = policies.map(({ name, remaining }) => `"${name}";r=${remaining}`).join(', ')
  const wait = Number.isFinite(retryAfter) ? Math.ceil(retryAfter / 1000) : 0
  return { ratelimit: left, ...(wait > 0 && { 'retry-after': String(wait) }) }
}
