/*
 * `headgate/otel`: metrics and spans for OpenTelemetry, made from the events on the diagnostics channels. This folder
 * imports `limiter`, and what `limiter` imports.
 */

export { HeadgateInstrumentation, type HeadgateInstrumentationConfig } from './instrumentation.ts'
