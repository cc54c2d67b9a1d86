export { HeadgateInstrumentation, type HeadgateInstrumentationConfig } from './instrumentation.ts'
