/* For browsers, workers and every runtime that is not Node: web standards only. */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 as sha256Of } from '@noble/hashes/sha2.js'
import type { Channel } from './platform.ts'

interface WebGlobals {
  readonly performance: { readonly timeOrigin: number; now(): number }
  readonly crypto: { getRandomValues(words: Int32Array): Int32Array }
  readonly console: { warn(message: string): void }
}

const web = globalThis as unknown as WebGlobals

/** Some workers stop this clock between two inputs. A clock that stands still mints nothing. */
export function microseconds(): number {
  return Math.floor((web.performance.timeOrigin + web.performance.now()) * 1000)
}

export function randomWords(): readonly [number, number] {
  const [low, high] = web.crypto.getRandomValues(new Int32Array(2))
  return [low as number, high as number]
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return sha256Of(bytes)
}

export function hmacSha256(secret: string, text: string): Uint8Array {
  const encoder = new TextEncoder()
  return hmac(sha256Of, encoder.encode(secret), encoder.encode(text))
}

export function emitWarning(message: string, code: string): void {
  web.console.warn(`HeadgateWarning [${code}]: ${message}`)
}

const silent: Channel = { hasSubscribers: false, publish() {} }

/** There are no diagnostics channels here. Use the hooks of the limiter or the guard. */
export function channel(_name: string): Channel {
  return silent
}

export function afterPendingEvents(run: () => void): void {
  setTimeout(run, 0)
}
