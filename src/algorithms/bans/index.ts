/*
 * Bans: every call on a banned key is refused until the ban ends. A ban begins after many refusals (a penalty) or by hand. This folder
 * imports the contract of algorithms, `evaluation`, `policy` and `common`.
 */

export {
  banAt,
  type CallBan,
  callBan,
  forever,
  isBannable,
  isPast,
  laterBan,
  longerBan,
  longestBan,
  newBan,
  type StoredBan,
  withBan,
} from './ban.ts'
export { Penalty, unlimited } from './penalty.ts'
export { type PenaltyOptions, penalty } from './penalty-policy.ts'
