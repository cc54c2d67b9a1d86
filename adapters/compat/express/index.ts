/*
 * The parts of the replacement for express-rate-limit: its options, keys, response fields and stores.
 */

export { ipKeyGenerator } from './address-key.ts'
export { configOf } from './config.ts'
export { resolved, setHeaders } from './fields.ts'
export type { EnabledValidations, ValidationName } from './validation-names.ts'
export type { Config, Validations } from './validations.ts'
