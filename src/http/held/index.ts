/*
 * Units that a request holds until its response has ended: units in flight, `count` and `settle`. It imports the files
 * of `http`.
 */

export { HeldUnits } from './held-units.ts'
export { type EndingResponse, whenEnded } from './when-ended.ts'
