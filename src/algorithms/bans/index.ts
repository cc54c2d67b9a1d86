/*
 * Bans: every call on a banned key is refused until the ban ends. A ban begins by a penalty (after refusals, or when a quota is spent) or by hand. This folder
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
export { SpentPenalty } from './spent-penalty.ts'
