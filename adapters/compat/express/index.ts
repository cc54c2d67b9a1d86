/* Options, keys, response fields and stores for `headgate/compat/express-rate-limit`, which replaces express-rate-limit. */

export { configOf } from './config.ts'
export { resolved, setHeaders } from './fields.ts'
export { ipKeyGenerator } from './ip-key-generator.ts'
export type { EnabledValidations } from './validation-names.ts'
export type { Config, Validations } from './validations.ts'
