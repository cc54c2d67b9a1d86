import { type DataPoint, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'

class PullReader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

/** A meter provider of the SDK whose metrics are read at once. */
export function metered(): { meterProvider: MeterProvider; read: (name: string) => Promise<Record<string, number>> } {
  const reader = new PullReader()
  const meterProvider = new MeterProvider({ readers: [reader] })
  /** The points of a metric by their attributes: of a histogram, the counts. */
  const read = async (name: string) => {
    const { resourceMetrics, errors } = await reader.collect()
    if (errors.length > 0) throw errors[0]
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
    const { dataPoints = [] } = all.find(({ descriptor }) => descriptor.name === name) ?? {}
    const points = dataPoints as (DataPoint<number> | DataPoint<Histogram>)[]
    const count = (value: number | Histogram) => (typeof value === 'number' ? value : value.count)
    return Object.fromEntries(
      points.map(({ attributes, value }) => [Object.values(attributes).join(' '), count(value)]),
    )
  }
  return { meterProvider, read }
}
