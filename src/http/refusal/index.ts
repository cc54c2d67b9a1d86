/*
 * The responses of requests that may not go on, and which requests no limit concerns. It imports the files of `http`.
 */

export { type Exemption, Exemptions } from './exemptions.ts'
export { Refusal } from './refusal.ts'
