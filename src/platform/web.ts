/* The platform functions for browsers, workers and every other runtime, written with web standards only. */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 as sha256Of } from '@noble/hashes/sha2.js'
import type { Channel, Platform } from './platform.ts'

export { waitUntil } from './request-context.ts'

interface WebGlobals {
  readonly performance: { readonly timeOrigin: number; now(): number }
  readonly crypto: { getRandomValues(words: Int32Array): Int32Array }
  readonly console: { warn(message: string): void }
  readonly navigator?: { readonly userAgent: string }
}

const web = globalThis as unknown as WebGlobals

/** Some runtimes for workers stop `performance.now()` until the next event. While this clock stands still, no quota is added. */
export const microseconds: Platform['microseconds'] = () =>
  Math.floor((web.performance.timeOrigin + web.performance.now()) * 1000)

export const randomWords: Platform['randomWords'] = () => {
  const [low, high] = web.crypto.getRandomValues(new Int32Array(2))
  return [low as number, high as number]
}

export const sha256: Platform['sha256'] = (bytes) => sha256Of(bytes)

export const hmacSha256: Platform['hmacSha256'] = (secret, text) => {
  const encoder = new TextEncoder()
  return hmac(sha256Of, encoder.encode(secret), encoder.encode(text))
}

export const emitWarning: Platform['emitWarning'] = (message, code) => {
  web.console.warn(`HeadgateWarning [${code}]: ${message}`)
}

const silent: Channel = { hasSubscribers: false, publish() {}, subscribe() {}, unsubscribe: () => false }

/** A channel without subscribers: web runtimes have no diagnostics channels. Use the hooks of the limiter or the middleware instead. */
export const channel: Platform['channel'] = () => silent

export const isolatesRequests: Platform['isolatesRequests'] = web.navigator?.userAgent === 'Cloudflare-Workers'

const { setTimeout, clearTimeout } = globalThis

export const realTimers: Platform['realTimers'] = {
  setTimeout: setTimeout.bind(globalThis),
  clearTimeout: clearTimeout.bind(globalThis),
}

export const afterPendingEvents: Platform['afterPendingEvents'] = (run) => {
  setTimeout(run, 0)
}

export const files: Platform['files'] = undefined
