import type { BatchObservableResult, Histogram, Meter, MetricOptions, Observable } from '@opentelemetry/api'
import type { LimiterCallEvent } from '../limiter-events.ts'
import type { ExchangeEvent } from '../stores/exchange.ts'
import { type Attributes, DecisionCounts, type Observe } from './decision-counts.ts'
import { LiveObjects, type LivePacer, maxNames } from './live-objects.ts'
import type { Result } from './result.ts'

/** The buckets that OpenTelemetry's conventions recommend for durations of requests, in seconds. */
const waits = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
/** For a store nearby, and for its timeout of 100 ms. */
const exchanges = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const batches = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]

/** For limiters beyond those that are told apart. */
const otherLimiter: Attributes = { limiter: 'other' }

/** The event of the channels of a pacer, as far as metrics read it. */
export interface PacerEvent {
  readonly pacer: string
  readonly instance: LivePacer
  readonly permits: number | Readonly<Record<string, number>>
}

/** The metrics of limiters, pacers and stores. docs/observability.md lists them. */
export class Metrics {
  readonly #counts = new DecisionCounts()
  readonly #live = new LiveObjects()
  /** Of the limiters and pacers whose calls have waited, at most `maxNames`. */
  readonly #waitAttributes = new Map<string, Attributes>()
  #wait: Histogram | undefined
  #duration: Histogram | undefined
  #batch: Histogram | undefined
  #stop: (() => void) | undefined

  /** Reports to this meter from now on, and to no other. */
  start(meter: Meter): void {
    this.stop()
    this.#wait = meter.createHistogram('headgate.wait', {
      ...described('How long admitted calls of pacers, and delayed requests, waited', 's'),
      advice: { explicitBucketBoundaries: waits },
    })
    this.#duration = meter.createHistogram('headgate.store.duration', {
      ...described('How long exchanges with the server of a store took', 's'),
      advice: { explicitBucketBoundaries: exchanges },
    })
    this.#batch = meter.createHistogram('headgate.store.batch', {
      ...described('How many calls one exchange decided', '{call}'),
      advice: { explicitBucketBoundaries: batches },
    })
    this.#observe(meter)
  }

  #observe(meter: Meter): void {
    const counts = this.#counts
    const live = this.#live
    const read: [Observable, (observe: Observe) => void][] = [
      [
        meter.createObservableCounter('headgate.decisions', described('Calls, by their result', '{decision}')),
        (observe) => counts.observeDecisions(observe),
      ],
      [
        meter.createObservableCounter('headgate.units', described('Units that calls asked for', '{unit}')),
        (observe) => counts.observeUnits(observe),
      ],
      [
        meter.createObservableCounter(
          'headgate.near_limit',
          described('Admitted calls that left less than a fifth of the limit', '{decision}'),
        ),
        (observe) => counts.observeNear(observe),
      ],
      [
        meter.createObservableUpDownCounter('headgate.in_flight', described('Calls in flight', '{call}')),
        (observe) => live.observeInFlight(observe),
      ],
      [
        meter.createObservableUpDownCounter('headgate.waiting', described('Calls that wait', '{call}')),
        (observe) => live.observeWaiting(observe),
      ],
      [
        meter.createObservableGauge(
          'headgate.breaker.state',
          described('The circuit breaker of a store: 0 closed, 1 half-open, 2 open'),
        ),
        (observe) => live.observeBreakers(observe),
      ],
      [
        meter.createObservableUpDownCounter('headgate.keys', described('Keys in memory', '{key}')),
        (observe) => live.observeKeys(observe),
      ],
      [
        meter.createObservableCounter('headgate.evictions', described('Keys evicted below their full quota', '{key}')),
        (observe) => live.observeEvictions(observe),
      ],
    ]
    const all = read.map(([instrument]) => instrument)
    const collect = (result: BatchObservableResult) => {
      for (const [instrument, from] of read) from((value, labels) => result.observe(instrument, value, labels))
    }
    meter.addBatchObservableCallback(collect, all)
    this.#stop = () => meter.removeBatchObservableCallback(collect, all)
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#wait = undefined
    this.#duration = undefined
    this.#batch = undefined
  }

  /** Returns the result that the call counts as. */
  called(event: LimiterCallEvent): Result {
    const { limiter, instance, wait } = event
    this.#live.limiterCalled(instance)
    if (wait > 0) this.#waited(limiter, wait)
    return this.#counts.count(event)
  }

  #waited(limiter: string, milliseconds: number): void {
    const known = this.#waitAttributes
    if (!known.has(limiter) && known.size < maxNames) known.set(limiter, { limiter })
    this.#wait?.record(milliseconds / 1000, known.get(limiter) ?? otherLimiter)
  }

  pacerQueued({ instance }: PacerEvent): void {
    this.#live.pacerCalled(instance)
  }

  pacerAdmitted({ pacer, instance, permits, waited }: PacerEvent & { readonly waited: number }): void {
    this.#live.pacerCalled(instance)
    this.#waited(pacer, waited)
    this.#counts.countPaced(pacer, most(permits), 'admitted')
  }

  pacerRefused({ pacer, instance, permits, error }: PacerEvent & { readonly error: unknown }): void {
    this.#live.pacerCalled(instance)
    this.#counts.countPaced(pacer, most(permits), isStoreError(error) ? 'error' : 'refused')
  }

  exchanged({ kind: store, calls, duration, error }: ExchangeEvent): void {
    this.#duration?.record(duration / 1000, error === undefined ? { store } : { store, 'error.type': codeOf(error) })
    this.#batch?.record(calls, { store })
  }
}

function described(description: string, unit?: string): MetricOptions {
  return unit === undefined ? { description } : { description, unit }
}

/** Of a record with a number for each policy, the largest number. */
function most(permits: PacerEvent['permits']): number {
  return typeof permits === 'number' ? permits : Math.max(...Object.values(permits))
}

/** The codes are few, so they are safe as an attribute. The texts of errors are not. */
export function codeOf(error: unknown): string {
  return String(Reflect.get(Object(error), 'code')).startsWith('HEADGATE_')
    ? (error as { code: string }).code
    : '_OTHER'
}

function isStoreError(error: unknown): boolean {
  return codeOf(error).startsWith('HEADGATE_STORE')
}
