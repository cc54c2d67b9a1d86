/* Every version of OpenTelemetry's API that the peer range allows: the lowest and the newest. */
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, expect, test, vi } from 'vitest'
import { metered } from '../support/telemetry.ts'

/** The API of one version refuses to register where another version has registered before. */
afterEach(() => {
  vi.doUnmock('@opentelemetry/api')
  vi.resetModules()
  Reflect.deleteProperty(globalThis, Symbol.for('opentelemetry.js.api.1'))
})

test.each([
  ['otel-api-lowest', '1.3.0', '@opentelemetry/api'], // it finds the providers that a newer API has registered
  ['otel-api-newest', '1.10.0', 'otel-api-newest'],
])('%s: metrics and spans, through the global providers', async (name, version, registeredBy) => {
  const api: typeof import('@opentelemetry/api') = await import(registeredBy)
  const own = await import(name)
  vi.doMock('@opentelemetry/api', () => own)
  const { default: manifest } = await import(`../../node_modules/${name}/package.json`, { with: { type: 'json' } })
  expect(manifest.version).toBe(version)
  const { HeadgateInstrumentation } = await import('../../src/telemetry/index.ts')
  const { RateLimiter } = await import('../../src/index.ts')
  const exporter = new InMemorySpanExporter()
  const { meterProvider, read } = metered()
  api.metrics.setGlobalMeterProvider(meterProvider)
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }) as never,
  )
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const running = new HeadgateInstrumentation()
  await api.trace.getTracer('app').startActiveSpan('request', async (span) => {
    await new RateLimiter({ name: 'api', policies: '9/1h' }).consume('ann')
    span.end()
  })
  running.disable()
  running.enable()
  expect(await read('headgate.decisions')).toEqual({ 'api 1h admitted': 1 })
  expect(exporter.getFinishedSpans()[0]?.events.map((event) => event.name)).toEqual(['headgate.decision'])
  running.disable()
  api.metrics.disable()
  api.trace.disable()
  api.context.disable()
})
