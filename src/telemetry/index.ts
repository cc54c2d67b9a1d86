/*
 * `headgate/otel`: metrics and spans for OpenTelemetry, made from the events on the diagnostics channels. This folder
 * imports `limiter`, and all that `limiter` imports.
 */

export { HeadgateInstrumentation, type HeadgateInstrumentationConfig } from './instrumentation.ts'
