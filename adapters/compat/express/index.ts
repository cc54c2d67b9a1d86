/*
 * The parts of the replacement for express-rate-limit: its options, keys, response fields and stores.
 */

export { configOf } from './config.ts'
export { resolved, setHeaders } from './fields.ts'
export { ipKeyGenerator } from './ip-key-generator.ts'
export type { EnabledValidations } from './validation-names.ts'
export type { Config, Validations } from './validations.ts'
