import { request as send } from 'node:http'
import { afterEach, describe } from 'vitest'
import { memoryStore, type Store } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { sampled } from './depth.ts'
import { type App, type AppOptions, frameworks, get } from './frameworks.ts'
import type { Start } from './served-app.ts'

/** Midnight of 1 January 2026 UTC. A window of a minute begins here. */
export const midnight: number = Date.UTC(2026, 0, 1)

export type StartApp = (limit: unknown, options?: Omit<AppOptions, 'limit'>) => Promise<App>

/** One of each kind. */
const kinds = /^(Express 5|Koa|Fastify|node:http|fetch on srvx|Hono on @hono.*|h3 on srvx)$/
const all = Object.entries(frameworks)
/** Another version of Node takes another part of the kinds: Node 20 and 22 together take all of them. */
const others = Number(process.versions.node.split('.')[0]) * 2
/** Four frameworks of different kinds, in turn from day to day. The tier `every-framework` takes every framework. */
export const tested: readonly (readonly [string, Start])[] = process.env.HEADGATE_EVERY_FRAMEWORK
  ? all
  : sampled(
      all.filter(([name]) => kinds.test(name)),
      4,
      others,
    )

/** Tests that hold on every framework; the apps they start are closed after each. */
export function contract(tests: (app: StartApp, lacks: (feature: Feature) => boolean, name: string) => void): void {
  describe.each(tested)('%s', (name, start) => {
    const running: App[] = []
    afterEach(async () => {
      await Promise.all(running.splice(0).map((app) => app.close()))
    })
    tests(
      async (limit, options = {}) => {
        const started = await start({ limit, ...options })
        running.push(started)
        return started
      },
      (feature) => exceptions[feature].test(name),
      name,
    )
  })
}

/** What some frameworks cannot do, so that there is nothing to test. */
type Feature = 'a response before the limiter' | 'the end of a pipelined request'

const exceptions: Record<Feature, RegExp> = {
  // A handler of these returns its response, so none can have begun.
  'a response before the limiter': /^(fetch|h3)/,
  // node:http says nothing about a response that waits behind another one, and these do not see its socket.
  'the end of a pipelined request': /without Node$/,
}

export async function statuses(url: string, requests: readonly Record<string, string>[]): Promise<number[]> {
  const all: number[] = []
  for (const headers of requests) all.push((await get(url, headers)).status)
  return all
}

/** A memory store on a manual clock. */
export function stillStore(): { store: Store; clock: ManualClock } {
  const clock = new ManualClock(midnight)
  return { store: memoryStore({ clock: clock.now }), clock }
}

/** Sends a request whose client disconnects when `when` is fulfilled. Resolves when it has disconnected. */
export function hangUp(url: string, when: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const request = send(url, { agent: false })
    request.on('error', () => undefined)
    request.on('close', () => resolve())
    request.end()
    void when.then(() => request.destroy())
  })
}

/** Waits until a condition holds, without a clock: it checks once in each turn of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (condition()) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error('the condition never held')
}

/** A promise that `give` resolves. */
export function signal(): { promise: Promise<void>; give: () => void } {
  let give = () => {}
  const promise = new Promise<void>((resolve) => {
    give = resolve
  })
  return { promise, give }
}
