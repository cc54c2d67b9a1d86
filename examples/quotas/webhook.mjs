import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Posts what a threshold tells. There is one event for each threshold and month, so a post that fails is sent again. The receiver knows
 * a repetition by its id.
 * @param {string} url
 * @param {import('headgate').ThresholdEvent} event
 */
export async function send(url, { policy, key, threshold, used, limit, resetAt }, pauses = [1000, 10_000, 60_000]) {
  const resets = new Date(resetAt).toISOString()
  const id = `${key} ${policy} ${threshold} ${resets}`
  const body = JSON.stringify({ id, customer: key, percent: Math.round(threshold * 100), used, limit, resets })
  for (const pause of [...pauses, undefined]) {
    const sent = await post(url, body).catch(() => false)
    if (sent) return
    if (pause === undefined) throw new Error(`The webhook did not take the event "${id}".`)
    await sleep(pause)
  }
}

async function post(url, body) {
  const headers = { 'content-type': 'application/json' }
  const { ok } = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(5000) })
  return ok
}
