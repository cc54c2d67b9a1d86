import type { BatchObservableResult, Histogram, Meter } from '@opentelemetry/api'
import type { CandidateEvent, LimiterCallEvent } from '../limiter/index.ts'
import type { ExchangeEvent } from '../stores/contract/index.ts'
import { type Attributes, DecisionCounts, type Reading } from './decision-counts.ts'
import { LiveObjects, type LivePacer, maxNames } from './live-objects.ts'
import type { Result } from './result.ts'

/**
 * Histogram bounds for exchanges (a request and its answer) with a store's server, in seconds. The bounds are close together up to 0.1,
 * because the default timeout of a store is 100 ms.
 */
const exchanges = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
/** Histogram bounds for durations of requests, in seconds, as the conventions of OpenTelemetry recommend. */
const waits = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const batches = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]

const nearLimit = 'Admitted calls that left less than a fifth of the limit'
const overridesUnread = 'For how long the overrides could not be read from the store'
const breakerStates = 'The circuit breaker of a store: 0 closed, 1 half-open, 2 open'

const histograms: Readonly<Record<string, readonly [buckets: number[], unit: string, description: string]>> = {
  wait: [waits, 's', 'How long admitted calls of pacers, and delayed requests, waited'],
  'store.duration': [exchanges, 's', 'How long exchanges with the server of a store took'],
  'store.batch': [batches, '{call}', 'How many calls one exchange decided'],
}

type ObservableKind = 'Counter' | 'UpDownCounter' | 'Gauge'
type Observable = readonly [ObservableKind, unit: string, description: string, read: () => readonly Reading[]]

/** The attributes that all limiters beyond the first `maxNames` share. */
const otherLimiter: Attributes = { limiter: 'other' }

/** The members of a pacer's event that the metrics read. */
export interface PacerEvent {
  readonly pacer: string
  readonly instance: LivePacer
  readonly cost: number | Readonly<Record<string, number>>
}

/** The metrics of limiters, pacers and stores. docs/observability.md lists these metrics. */
export class Metrics {
  readonly #counts = new DecisionCounts()
  readonly #live = new LiveObjects()
  /**
   * The attributes under which waits are recorded, by the names of limiters and pacers whose calls have waited. At most
   * `maxNames` names are stored. All other limiters share `otherLimiter`.
   */
  readonly #waitAttributes = new Map<string, Attributes>()
  /** The instruments that OpenTelemetry reads when it collects metrics. */
  readonly #observables: Readonly<Record<string, Observable>> = {
    decisions: ['Counter', '{decision}', 'Calls, by their result', () => this.#counts.decisions()],
    units: ['Counter', '{unit}', 'Units that calls asked for', () => this.#counts.units()],
    overridden: ['Counter', '{decision}', 'Calls decided under an override', () => this.#counts.overridden()],
    overrides: ['Gauge', '{override}', 'Overrides that have not ended', () => this.#live.overrides()],
    'overrides.unread': ['Gauge', 's', overridesUnread, () => this.#live.overridesUnread()],
    near_limit: ['Counter', '{decision}', nearLimit, () => this.#counts.nearLimit()],
    candidate: ['Counter', '{call}', 'Calls that a candidate has decided too', () => this.#counts.candidates()],
    in_flight: ['UpDownCounter', '{call}', 'Calls in flight', () => this.#live.inFlight()],
    waiting: ['UpDownCounter', '{call}', 'Calls that wait', () => this.#live.waiting()],
    'breaker.state': ['Gauge', '', breakerStates, () => this.#live.breakers()],
    keys: ['UpDownCounter', '{key}', 'Keys in memory', () => this.#live.keys()],
    evictions: ['Counter', '{key}', 'Keys evicted below their full quota', () => this.#live.evictions()],
  }
  readonly #histograms = new Map<string, Histogram>()
  #stop: (() => void) | undefined

  /** Reports to this meter from now on, and stops reporting to the previous meter. */
  start(meter: Meter): void {
    this.stop()
    for (const [name, [explicitBucketBoundaries, unit, description]] of Object.entries(histograms)) {
      const options = { unit, description, advice: { explicitBucketBoundaries } }
      this.#histograms.set(name, meter.createHistogram(`headgate.${name}`, options))
    }
    const read = Object.entries(this.#observables).map(([name, [kind, unit, description, readings]]) => {
      return [meter[`createObservable${kind}`](`headgate.${name}`, { unit, description }), readings] as const
    })
    const all = read.map(([instrument]) => instrument)
    const collect = (result: BatchObservableResult) => {
      for (const [instrument, readings] of read) {
        for (const [value, attributes] of readings()) result.observe(instrument, value, attributes)
      }
    }
    meter.addBatchObservableCallback(collect, all)
    this.#stop = () => meter.removeBatchObservableCallback(collect, all)
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#histograms.clear()
  }

  /** Counts a call of a limiter. Returns the result that the call counts as, such as `'refused'`. */
  called(event: LimiterCallEvent): Result {
    const { limiter, instance, wait } = event
    this.#live.limiterCalled(instance)
    if (wait > 0) this.#waited(limiter, wait)
    return this.#counts.count(event)
  }

  compared(event: CandidateEvent): void {
    this.#counts.countCandidate(event)
  }

  #waited(limiter: string, milliseconds: number): void {
    const known = this.#waitAttributes
    if (!known.has(limiter) && known.size < maxNames) known.set(limiter, { limiter })
    this.#histograms.get('wait')?.record(milliseconds / 1000, known.get(limiter) ?? otherLimiter)
  }

  pacerQueued({ instance }: PacerEvent): void {
    this.#live.pacerCalled(instance)
  }

  pacerAdmitted({ pacer, instance, cost, waited }: PacerEvent & { readonly waited: number }): void {
    this.#live.pacerCalled(instance)
    this.#waited(pacer, waited)
    this.#counts.countPaced(pacer, most(cost), 'admitted')
  }

  pacerRefused({ pacer, instance, cost, error }: PacerEvent & { readonly error: unknown }): void {
    this.#live.pacerCalled(instance)
    this.#counts.countPaced(pacer, most(cost), codeOf(error).startsWith('HEADGATE_STORE') ? 'error' : 'refused')
  }

  exchanged({ kind: store, calls, duration, error }: ExchangeEvent): void {
    const failure = error !== undefined && { 'error.type': codeOf(error) }
    this.#histograms.get('store.duration')?.record(duration / 1000, { store, ...failure })
    this.#histograms.get('store.batch')?.record(calls, { store })
  }
}

/** The cost of a call as one number. If the cost is an object with a number for each policy, the result is the largest number. */
function most(cost: PacerEvent['cost']): number {
  return typeof cost === 'number' ? cost : Math.max(...Object.values(cost))
}

/** The code of an error, as an attribute. There are few codes, but the messages of errors have too many values. */
export function codeOf(error: unknown): string {
  return String(Reflect.get(Object(error), 'code')).startsWith('HEADGATE_')
    ? (error as { code: string }).code
    : '_OTHER'
}
