import { type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { HeadgateError, isBrokenRecord } from '../common/index.ts'
import type { StoreCallEvent } from '../failure/index.ts'
import type { LimiterCallEvent } from '../limiter/index.ts'
import { codeOf } from './metrics.ts'
import { policyOf, type Result } from './result.ts'

/** The span that is active in the caller; undefined if there is none, or if it is not recorded. */
function recording(): Span | undefined {
  const span = trace.getActiveSpan()
  return span?.isRecording() ? span : undefined
}

/** Adds the decision to the active span, as an event. The event never contains the key. */
export function addDecision(event: LimiterCallEvent, result: Result): void {
  const span = recording()
  if (span === undefined) return
  const { limiter, decision } = event
  if (decision === undefined) {
    span.addEvent('headgate.decision', { limiter, result })
    return
  }
  const { remaining, retryAfter } = decision
  span.addEvent('headgate.decision', {
    limiter,
    policy: policyOf(event) as string,
    result,
    remaining,
    ...(retryAfter > 0 && retryAfter < Infinity && { retry_after: retryAfter / 1000 }),
  })
}

/** Adds a span for a call of the store to the active span. A probe of the store has no caller, so it gets no span. */
export function addStoreSpan(tracer: Tracer, event: StoreCallEvent): void {
  if (recording() === undefined) return
  const { store, limiter, shard, startedAt, duration, error } = event
  const span = tracer.startSpan('headgate.store', {
    kind: SpanKind.CLIENT,
    startTime: startedAt,
    attributes: { limiter, store: store.traits?.kind ?? 'other', ...(shard !== undefined && { shard }) },
  })
  if (error !== undefined) {
    span.setAttribute('error.type', codeOf(error))
    const message = messageOf(error)
    span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
  }
  span.end(startedAt + duration)
}

/** The error's message. Undefined if a key may be in the message: for broken stored values, and for errors of other packages. */
function messageOf(error: unknown): string | undefined {
  return error instanceof HeadgateError && !isBrokenRecord(error) ? error.message : undefined
}
