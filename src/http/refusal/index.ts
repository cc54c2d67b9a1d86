/*
 * The responses to requests that may not go on, and the rules that exempt requests from a limit. This folder imports
 * the files of `http`.
 */

export { type Exemption, Exemptions } from './exemptions.ts'
export { Refusal } from './refusal.ts'
