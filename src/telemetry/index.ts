/*
 * Metrics and spans for OpenTelemetry, made from the diagnostics channels: `headgate/otel`. It imports `limiter` and
 * what that imports.
 */

export { HeadgateInstrumentation, type HeadgateInstrumentationConfig } from './instrumentation.ts'
