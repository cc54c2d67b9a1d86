/*
 * Bans: a key that is refused until a time, by a penalty for refusals or by hand. It imports the contract of
 * algorithms, `evaluation`, `policy` and `common`.
 */

export {
  banAt,
  type CallBan,
  callBan,
  forever,
  isBannable,
  isPast,
  longerBan,
  longestBan,
  newBan,
  type StoredBan,
  withBan,
} from './ban.ts'
export { Penalty, unlimited } from './penalty.ts'
export { type PenaltyOptions, penalty } from './penalty-policy.ts'
