import { Pacer, pacedFetch } from 'headgate/pacer'

/**
 * @param {import('headgate').Store} store
 * @param {Record<string, string>} exceptions the hosts that do not get 10 webhooks a second, each with its own pace
 */
export function createSender(store, exceptions = {}) {
  const others = new Pacer('10/1s burst 1', { store, name: 'webhooks' })
  const paces = new Map()
  for (const [host, pace] of Object.entries(exceptions)) {
    paces.set(host, new Pacer(pace, { store, name: `webhooks-${host}` }))
  }
  const send = pacedFetch(fetch, {
    pacer: ({ host }) => paces.get(host) ?? others.key(host),
    priority: (_url, init) => (new Headers(init?.headers).get('Webhook-Event') === 'payment' ? 1 : 0),
    runTimeout: '10s', // how long a host may take to answer
  })

  /** Sends a webhook, and returns the status of the response. An `id` stays the same when a webhook is sent again. */
  return async function deliver({ id, url, event, data }) {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': id, 'Webhook-Event': event }
    // A redirect would send the webhook to another host, without the pace of that host.
    const response = await send(url, { method: 'POST', headers, body: JSON.stringify(data), redirect: 'manual' })
    await response.body?.cancel()
    return response.status
  }
}
