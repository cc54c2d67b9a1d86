/*
 * Bans: every call on a banned key is refused until the ban ends. A penalty begins a ban after refusals, or when a quota is spent. An
 * operator begins a ban by hand. This folder imports the contract of algorithms, `evaluation`, `policy` and `common`.
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
  makeSpace,
  newBan,
  type StoredBan,
  withBan,
} from './ban.ts'
export { Penalty, unlimited } from './penalty.ts'
export { type PenaltyOptions, penalty } from './penalty-policy.ts'
export { SpentPenalty } from './spent-penalty.ts'
