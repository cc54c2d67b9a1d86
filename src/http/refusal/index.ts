/* The responses to refused requests, and the rules that exempt requests from a limit. This folder imports the files of `http`. */

export { clientRefusal } from './client-refusal.ts'
export { type Exemption, Exemptions } from './exemptions.ts'
export { Refusal } from './refusal.ts'
