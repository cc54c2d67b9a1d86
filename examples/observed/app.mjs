import { createServer } from 'node:http'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { concurrency, memoryStore, RateLimiter, tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/node'
import { HeadgateInstrumentation } from 'headgate/otel'
import { Pacer } from 'headgate/pacer'
import { redisStore } from 'headgate/redis'

/**
 * An app with the usual limits: an API on Redis, a login with a penalty in memory, and a pacer for what it calls itself. Its
 * metrics are at `/metrics` of a port of their own.
 */
export function createApp({ client, metricsPort, storeTimeout = '100ms' }) {
  const exporter = new PrometheusExporter({ port: metricsPort, host: '127.0.0.1' })
  const instrumentation = new HeadgateInstrumentation({ meterProvider: new MeterProvider({ readers: [exporter] }) })

  const keys = (request) => request.headers['x-api-key'] ?? 'anonymous'
  const api = new RateLimiter({
    name: 'api',
    policies: [tokenBucket({ name: 'burst', limit: 20, window: '1s' }), concurrency({ name: 'at-once', limit: 50 })],
    store: redisStore({ client, timeout: storeTimeout }),
    top: 1000,
  })
  const login = new RateLimiter({
    name: 'login',
    policies: '5/1m',
    penalty: { after: 3, within: '1m', ban: '1m' },
    store: memoryStore({ maxKeys: 150 }),
  })
  const limits = { '/api': rateLimit(api, { keys }), '/login': rateLimit(login, { keys }) }
  const mail = new Pacer('9/1s', { name: 'mail' })

  const server = createServer((request, response) => {
    const limit = limits[request.url]
    if (limit === undefined) return void response.writeHead(404).end()
    limit(request, response, (error) => {
      if (error) return void response.writeHead(500).end()
      if (request.url === '/login') mail.acquire(1, { timeout: 2000 }).catch(() => {})
      response.end('ok')
    })
  })
  return {
    server,
    api,
    async close() {
      mail.close()
      instrumentation.disable()
      await exporter.shutdown()
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
