import { connect, type Socket } from 'node:net'
import { expect, vi } from 'vitest'
import type { RateLimiter } from '../../src/index.ts'
import type { ManualClock } from '../../src/testing/index.ts'

/* For tests of the policy `10 at once lease 3s`, on a manual clock and with timers of vitest for `setInterval`. */

/** How many units of the key `k` are in flight. */
export async function used(limiter: RateLimiter): Promise<number> {
  return 10 - (await limiter.peek('k')).remaining
}

/** Waits until that many units are in flight, without a clock. */
export async function untilUsed(limiter: RateLimiter, units: number): Promise<void> {
  for (let turn = 0; turn < 20_000 && (await used(limiter)) !== units; turn++) await turnOfLoop()
  expect(await used(limiter)).toBe(units)
}

/** Lets leases of 3 seconds pass, each in three steps, in which a guard may renew them. */
export async function passLeases(clock: ManualClock, leases: number): Promise<void> {
  for (let third = 0; third < leases * 3; third++) {
    clock.advance('1s')
    vi.advanceTimersByTime(1000)
    await turnOfLoop()
  }
}

function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Asks for an upgrade. Resolves when the server has upgraded the connection. */
export function upgrade(url: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.once('data', () => resolve(socket))
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  })
}
