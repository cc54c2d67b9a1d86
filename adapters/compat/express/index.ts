/*
 * express-rate-limit: its options, keys, fields and stores on this package.
 */

export { configOf } from './config.ts'
export { resolved, setHeaders } from './fields.ts'
export { ipKeyGenerator } from './ip-key-generator.ts'
export type { EnabledValidations } from './validation-names.ts'
export type { Config, Validations } from './validations.ts'
