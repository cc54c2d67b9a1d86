// @ts-nocheck: the types beside it are those that the adapter declares of Nest, and not the real ones
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { HeadgateThrottlerStorage } from 'headgate/compat/nest-throttler'
import { RateLimitGuard, RateLimitModule } from 'headgate/nest'

/* A Nest application on Express. The decorators are calls here: there is no compiler. */

/** @param limited the module of a limiter and the guard that it needs; none without a limiter */
async function nest(limited) {
  class Front {
    hello() {
      return 'hello'
    }
  }
  Controller()(Front)
  Get()(Front.prototype, 'hello', Object.getOwnPropertyDescriptor(Front.prototype, 'hello'))
  class App {}
  const providers = limited ? [{ provide: APP_GUARD, useClass: limited.guard }] : []
  Module({ imports: limited ? [limited.module] : [], controllers: [Front], providers })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.init()
  return app.getHttpServer()
}

function throttler(limit, storage) {
  const module = ThrottlerModule.forRoot({ throttlers: [{ limit, ttl: 3_600_000 }], ...storage })
  return { module, guard: ThrottlerGuard }
}

export const nestTargets = {
  alone: () => nest(),
  'headgate/nest': (limit) => nest({ module: RateLimitModule.forRoot({ limit, window: '1h' }), guard: RateLimitGuard }),
  'headgate/compat/nest-throttler': (limit) => nest(throttler(limit, { storage: new HeadgateThrottlerStorage() })),
  '@nestjs/throttler': (limit) => nest(throttler(limit)),
}
