import type { AddressInfo } from 'node:net'
import { type INestApplication, Module, type ModuleMetadata, type NestApplicationOptions } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { memoryStore } from 'headgate'
import { RateLimitGuard } from 'headgate/nest'
import { ManualClock } from 'headgate/testing'
import request from 'supertest'
import { onTestFinished } from 'vitest'

export const platforms = ['Express', 'Fastify'] as const
export type Platform = (typeof platforms)[number]

/** The guard for every handler of an application. */
export const everywhere = { provide: APP_GUARD, useClass: RateLimitGuard }

/** Proxies of each platform, as its own setting trusts them: the one at this address. */
const trusting = {
  Express() {
    const adapter = new ExpressAdapter()
    adapter.set('trust proxy', 1)
    return adapter
  },
  Fastify: () => new FastifyAdapter({ trustProxy: '127.0.0.1' }),
}

const plain = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() }

interface StartOptions extends NestApplicationOptions {
  trustProxy?: boolean
  /** What is set on the application before it listens. */
  prepare?: (app: INestApplication) => unknown
}

/** Starts a Nest application on a free port, until the test ends. Its logger is silent: errors are part of the tests. */
export async function start(platform: Platform, metadata: ModuleMetadata, options: StartOptions = {}) {
  const { trustProxy = false, prepare, ...nest } = options
  const AppModule = moduleOf(metadata)
  const adapter = (trustProxy ? trusting : plain)[platform]()
  const app = await NestFactory.create(AppModule, adapter, { logger: false, abortOnError: false, ...nest })
  onTestFinished(() => app.close())
  await prepare?.(app)
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return { app, port, url, agent: request(url) }
}

function moduleOf(metadata: ModuleMetadata) {
  class AppModule {}
  Module(metadata)(AppModule)
  return AppModule
}

/** A store whose time stands still until the test moves it. */
export function storeAt(time = Date.UTC(2026, 0, 1)) {
  const clock = new ManualClock(time)
  return { clock, store: memoryStore({ clock: clock.now }) }
}

/** The statuses of requests, one after the other. */
export async function statuses(url: string, paths: readonly (string | [string, Record<string, string>])[]) {
  const found: number[] = []
  for (const each of paths) {
    const [path, headers] = typeof each === 'string' ? [each, {}] : each
    found.push((await request(url).get(path).set(headers)).status)
  }
  return found
}
