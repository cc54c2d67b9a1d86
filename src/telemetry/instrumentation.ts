import type { Meter, MeterProvider, Tracer, TracerProvider } from '@opentelemetry/api'
import * as api from '@opentelemetry/api'
import { channel } from '#platform'
import { check, flag, optional, type Reader, readOptions, tooOld } from '../common/index.ts'
import { Metrics } from './metrics.ts'
import { addDecision, addStoreSpan } from './spans.ts'

/** Options of `HeadgateInstrumentation`. */
export interface HeadgateInstrumentationConfig {
  /** True to start measuring when the object is made. Default true. With `false`, call `enable()` to start. */
  enabled?: boolean | undefined
  /** The provider for metrics. Default: the global provider. Example: `new MeterProvider({ readers: [reader] })`. */
  meterProvider?: MeterProvider | undefined
  /** The provider for spans. Default: the global provider. */
  tracerProvider?: TracerProvider | undefined
}

const readers = {
  enabled: flag(true),
  meterProvider: provider('getMeter', 'new MeterProvider({ readers: [...] })'),
  tracerProvider: provider('getTracer', 'provider'),
}

const scope = 'headgate'
const version = '0.1.0'

type Listener = (event: never) => void

/**
 * Metrics and spans of every limiter, middleware, store and pacer of this process, through OpenTelemetry. Register the object like
 * any other instrumentation:
 *
 * ```js
 * new NodeSDK({ instrumentations: [new HeadgateInstrumentation()] }).start()
 * ```
 *
 * Without NodeSDK, call `new HeadgateInstrumentation()` after the providers are set. In a runtime without diagnostics
 * channels the instrumentation does nothing. docs/observability.md lists the metrics.
 */
export class HeadgateInstrumentation {
  readonly instrumentationName: string = scope
  readonly instrumentationVersion: string = version
  #config: HeadgateInstrumentationConfig
  readonly #metrics = new Metrics()
  #tracer: Tracer | undefined
  #enabled = false

  /** @throws HeadgateError `HEADGATE_OPTION` if an option is invalid */
  constructor(config: HeadgateInstrumentationConfig = {}) {
    if (api.metrics === undefined) throw tooOld('headgate/otel', '@opentelemetry/api', '1.3')
    this.#config = checked(config)
    if (config.enabled !== false) this.enable()
  }

  /** Starts to measure. After an earlier `disable()`, counters continue from their last values. */
  enable(): void {
    if (this.#enabled) return
    this.#enabled = true
    this.#start()
    for (const [name, listener] of this.#listeners) channel(name).subscribe(listener as (event: unknown) => void)
  }

  /** Stops measuring. From then on, no call takes time for measuring. */
  disable(): void {
    if (!this.#enabled) return
    this.#enabled = false
    for (const [name, listener] of this.#listeners) channel(name).unsubscribe(listener as (event: unknown) => void)
    this.#metrics.stop()
    this.#tracer = undefined
  }

  /** Sets where the metrics go. NodeSDK calls this method. */
  setMeterProvider(meterProvider: MeterProvider): void {
    this.setConfig({ ...this.#config, meterProvider })
  }

  /** Sets where the spans go. NodeSDK calls this method. */
  setTracerProvider(tracerProvider: TracerProvider): void {
    this.setConfig({ ...this.#config, tracerProvider })
  }

  getConfig(): HeadgateInstrumentationConfig {
    return this.#config
  }

  /** @throws HeadgateError `HEADGATE_OPTION` if an option is invalid */
  setConfig(config: HeadgateInstrumentationConfig): void {
    this.#config = checked(config)
    if (this.#enabled) this.#start()
  }

  #start(): void {
    const { meterProvider = api.metrics.getMeterProvider(), tracerProvider = api.trace.getTracerProvider() } =
      this.#config
    const meter: Meter = meterProvider.getMeter(scope, version)
    this.#metrics.start(meter)
    this.#tracer = tracerProvider.getTracer(scope, version)
  }

  readonly #listeners: readonly (readonly [name: string, listener: Listener])[] = [
    ['headgate:limiter:call', (event) => addDecision(event, this.#metrics.called(event))],
    ['headgate:limiter:candidate', (event) => this.#metrics.compared(event)],
    ['headgate:store:exchange', (event) => this.#metrics.exchanged(event)],
    ['headgate:store:call', (event) => this.#tracer !== undefined && addStoreSpan(this.#tracer, event)],
    ['headgate:pacer:queued', (event) => this.#metrics.pacerQueued(event)],
    ['headgate:pacer:admitted', (event) => this.#metrics.pacerAdmitted(event)],
    ['headgate:pacer:refused', (event) => this.#metrics.pacerRefused(event)],
  ]
}

function checked(config: HeadgateInstrumentationConfig): HeadgateInstrumentationConfig {
  readOptions('HeadgateInstrumentation', config, readers)
  return { enabled: true, ...config }
}

function provider(method: string, example: string): Reader<unknown> {
  const provides = (given: unknown) => typeof Reflect.get(Object(given), method) === 'function'
  return optional(check(provides, `a provider with ${method}()`, example))
}
