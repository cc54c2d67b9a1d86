/*
 * Metrics and spans for OpenTelemetry, made from the diagnostics channels: `headgate/otel`. This folder imports
 * `limiter`, and what `limiter` imports.
 */

export { HeadgateInstrumentation, type HeadgateInstrumentationConfig } from './instrumentation.ts'
