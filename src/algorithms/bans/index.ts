/*
 * Bans: a key that is refused until a time, by a penalty for refusals or by hand. It imports the contract of
 * algorithms, `evaluation`, `policy` and `common`.
 */

export {
  type Block,
  blockAt,
  type CallBlock,
  callBlock,
  forever,
  isBlockable,
  isPast,
  longerBlock,
  longestBlock,
  newBlock,
  withBlock,
} from './ban.ts'
export { Penalty, unlimited } from './penalty.ts'
export { type PenaltyOptions, penalty } from './penalty-policy.ts'
