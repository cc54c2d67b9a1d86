import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { fixedWindow, HeadgateError, memoryStore, RateLimiter } from '../../src/index.ts'
import { HeadgateInstrumentation } from '../../src/telemetry/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { brokenStore } from '../support/async-store.ts'
import { FailingStore } from '../support/failing-store.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const tracer = tracerProvider.getTracer('app')
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
afterAll(() => context.disable())

let running: HeadgateInstrumentation
beforeEach(() => {
  running = new HeadgateInstrumentation({ tracerProvider })
})
afterEach(() => {
  running.disable()
  exporter.reset()
})

/** Runs in a span, and returns that span when it has ended. */
async function inSpan(name: string, run: () => Promise<unknown>) {
  await tracer.startActiveSpan(name, async (span) => {
    await run()
    span.end()
  })
  const span = exporter.getFinishedSpans().find((each) => each.name === name)
  if (span === undefined) throw new Error(`${name} has not ended`)
  return span
}

test('a decision is an event of the active span, without the key', async () => {
  const limiter = new RateLimiter({
    name: 'api',
    policies: fixedWindow({ limit: 2, window: '1s', align: 'first-request' }),
    store: memoryStore({ clock: new ManualClock().now }),
  })
  const { events } = await inSpan('request', async () => {
    await limiter.consume('secret')
    await limiter.consume('secret', { cost: 2 })
    await limiter.consume('secret', { cost: 3 })
  })
  expect(events.map(({ name, attributes }) => ({ name, ...attributes }))).toEqual([
    { name: 'headgate.decision', limiter: 'api', policy: '1s', result: 'admitted', remaining: 1 },
    { name: 'headgate.decision', limiter: 'api', policy: '1s', result: 'refused', remaining: 1, retry_after: 1 },
    { name: 'headgate.decision', limiter: 'api', policy: '1s', result: 'refused', remaining: 1 },
  ])
  expect(JSON.stringify(events)).not.toContain('secret')
})

test('a call to a store is a span in the span of its caller', async () => {
  const store = new FailingStore(new ManualClock())
  const limiter = new RateLimiter({
    name: 'api',
    policies: '9/1s',
    store,
    storeTimeout: '20ms',
    onStoreError: 'closed',
  })
  const [first, second] = await Promise.all([
    inSpan('first', () => limiter.consume('ann')),
    inSpan('second', () => limiter.consume('bob')),
  ])
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'headgate.store')
  expect(spans.map(({ parentSpanContext }) => parentSpanContext?.spanId).sort()).toEqual(
    [first.spanContext().spanId, second.spanContext().spanId].sort(),
  )
  expect(spans.map(({ attributes, status }) => ({ ...attributes, ...status }))).toEqual([
    { limiter: 'api', store: 'other', code: SpanStatusCode.UNSET },
    { limiter: 'api', store: 'other', code: SpanStatusCode.UNSET },
  ])
})

test.each([
  ['fails', '_OTHER', 0],
  ['hangs', 'HEADGATE_STORE_TIMEOUT', 15],
] as const)('a store that %s is an error of its span', async (mode, type, atLeast) => {
  const store = new FailingStore(new ManualClock())
  store.mode = mode
  const limiter = new RateLimiter({
    name: 'api',
    policies: '9/1s',
    store,
    storeTimeout: '20ms',
    onStoreError: 'closed',
  })
  const parent = await inSpan('request', () => limiter.consume('ann').catch(() => undefined))
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name === 'headgate.store')
  expect(span?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId)
  expect(span?.attributes['error.type']).toBe(type)
  expect(span?.status.code).toBe(SpanStatusCode.ERROR)
  const [seconds, nanoseconds] = span?.duration ?? [0, 0]
  expect(seconds * 1000 + nanoseconds / 1e6).toBeGreaterThanOrEqual(atLeast)
  expect(parent.events.map(({ attributes }) => attributes)).toEqual([{ limiter: 'api', result: 'error' }])
})

test('the text of an error that has the key is left out', async () => {
  const key = 'sk-secret'
  const errors = [
    new HeadgateError('HEADGATE_STORE_RECORD', `The value under "${key}" is no record.`),
    new Error(`cannot read ${key}`),
    new HeadgateError('HEADGATE_STORE', 'Redis failed: it is full.'),
  ]
  const failing = (error: Error) => brokenStore(() => Promise.reject(error))
  await inSpan('request', async () => {
    for (const [n, error] of errors.entries()) {
      const limiter = new RateLimiter({
        name: `api ${n}`,
        policies: '9/1s',
        store: failing(error),
        onStoreError: 'closed',
      })
      await limiter.consume(key).catch(() => undefined)
    }
  })
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'headgate.store')
  expect(spans.map(({ attributes, status }) => [attributes['error.type'], status.message])).toEqual([
    ['HEADGATE_STORE_RECORD', undefined],
    ['_OTHER', undefined],
    ['HEADGATE_STORE', 'Redis failed: it is full.'],
  ])
  const shown = exporter.getFinishedSpans().map(({ attributes, events, status }) => ({ attributes, events, status }))
  expect(JSON.stringify(shown)).not.toContain(key)
})

test('a call outside of a span makes none', async () => {
  const limiter = new RateLimiter({ name: 'api', policies: '9/1s', store: new FailingStore(new ManualClock()) })
  await limiter.consume('ann')
  expect(exporter.getFinishedSpans()).toEqual([])
  expect(trace.getActiveSpan()).toBeUndefined()
})
