/*
 * An app as its users start it: NodeSDK first, then limiters. It makes some calls, shuts down, and prints what arrived. Its argument
 * is the port of a Redis.
 */
import { channel } from 'node:diagnostics_channel'
import { trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { NodeSDK, tracing } from '@opentelemetry/sdk-node'
import { policy, RateLimiter } from 'headgate'
import { HeadgateInstrumentation } from 'headgate/otel'
import { Pacer } from 'headgate/pacer'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

const spans = new tracing.InMemorySpanExporter()
const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const instrumentation = new HeadgateInstrumentation()
const sdk = new NodeSDK({
  serviceName: 'app',
  spanProcessors: [new tracing.SimpleSpanProcessor(spans)],
  metricReaders: [new PeriodicExportingMetricReader({ exporter: metrics })],
  instrumentations: [instrumentation],
})
sdk.start()

const client = new Redis(Number(process.argv[2]))
client.on('error', () => {})
const api = new RateLimiter({ name: 'api', policies: policy('2/1h'), store: redisStore({ client, timeout: '10s' }) })
const login = new RateLimiter({ name: 'login', policies: '1/1h' })
const mail = new Pacer('10/1s', { name: 'mail' })
await trace.getTracer('app').startActiveSpan('request', async (span) => {
  for (let call = 0; call < 3; call++) await api.consume('ann')
  await login.consume('ann')
  await mail.acquire()
  span.end()
})
instrumentation.setConfig({}) // the global providers, as before
await login.consume('bob')

// What a shutdown sends is read before the exporters forget it.
const [sent, seen] = [[], []]
metrics.shutdown = async () => void sent.push(...metrics.getMetrics())
spans.shutdown = async () => void seen.push(...spans.getFinishedSpans())
await sdk.shutdown()
instrumentation.disable() // NodeSDK leaves that to the app
client.disconnect()
mail.close()

const names = ['limiter:call', 'store:call', 'store:exchange', 'pacer:queued', 'pacer:admitted', 'pacer:refused']
const points = (sent.at(-1)?.scopeMetrics ?? [])
  .filter(({ scope }) => scope.name === 'headgate')
  .flatMap((scope) => scope.metrics)
  .flatMap(({ descriptor: { name, unit }, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => ({ name, unit, attributes, value: value.count ?? value })),
  )
console.log(
  JSON.stringify({
    listening: names.filter((name) => channel(`headgate:${name}`).hasSubscribers),
    points,
    spans: seen.map((span) => ({
      name: span.name,
      attributes: span.attributes,
      id: span.spanContext().spanId,
      parent: span.parentSpanContext?.spanId,
      events: span.events.map(({ name, attributes }) => ({ name, ...attributes })),
    })),
  }),
)
