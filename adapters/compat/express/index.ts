/*
 * express-rate-limit: its options, keys, fields and stores on this package.
 */

export { ipKeyGenerator } from './address-key.ts'
export { configOf } from './config.ts'
export { resolved, setHeaders } from './fields.ts'
export type { EnabledValidations } from './validation-names.ts'
export type { Config, Validations } from './validations.ts'
