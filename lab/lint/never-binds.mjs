/*
 * Finds policies that can never refuse a request, because another policy of the same scope refuses it first. All bounds err on the safe
 * side, so a finding is right for any requests. They hold for `consume` with one cost for all policies. Times are milliseconds.
 */
const hour = 3_600_000
const day = 24 * hour

/** The shortest and the longest window of a calendar. A day on which the clocks change has an hour less or more. */
const lengths = {
  day: [day - hour, day + hour],
  week: [7 * day - hour, 7 * day + hour],
  month: [28 * day - hour, 31 * day + hour],
  quarter: [90 * day - hour, 92 * day + hour],
  year: [365 * day - hour, 366 * day + hour],
}

/** A name that only says when units count. Policies of other names, such as `tokens`, may have costs of their own. */
const timeName =
  /^([\d.]+(ms|[smhdw])|(per-?)?(second|minute|hour|day|week|month|quarter|year)(ly)?|daily|\d+-months|burst|sustained)$/i

/**
 * The policy because of which `policy` never refuses a request. Undefined if there is none.
 * @param {import('headgate').Policy} policy
 * @param {readonly import('headgate').Policy[]} policies those of the plan
 */
export function stricterThan(policy, policies) {
  if (policy.shadow || policy.countRefused || policy.thresholds !== undefined || !timeName.test(policy.name))
    return undefined
  return policies.find((other, n) => {
    if (other === policy || other.shadow || other.limit === 0) return false
    if (other.scope !== policy.scope || !timeName.test(other.name) || !isStricter(other, policy)) return false
    return n < policies.indexOf(policy) || !isStricter(policy, other) // of two alike, the second never binds
  })
}

function isStricter(other, policy) {
  return (other.limit <= policy.limit && isNested(policy, other)) || staysBelow(other, policy)
}

/** True if each window of `policy` is inside a window of `other`, which forgets no unit sooner. */
function isNested(policy, other) {
  const [inner, outer] = [datesOf(policy), datesOf(other)]
  if (inner !== undefined && outer !== undefined) {
    if (inner.timeZone === 'caller' || inner.timeZone !== outer.timeZone) return false
    return inner.every === 'day' || JSON.stringify(inner) === JSON.stringify(outer)
  }
  if (![policy, other].every((each) => slides(each) || isFixed(each)) || other.window % policy.window !== 0)
    return false
  return slides(other) || isFixed(policy)
}

function slides({ algorithm }) {
  return algorithm.kind === 'slidingWindow'
}

/** The calendar of a policy whose windows begin on dates. A fixed window with `thresholds` or `giveBack` has a calendar of even windows. */
function datesOf({ calendar }) {
  return calendar?.even ? undefined : calendar
}

/** A fixed window by the clock. */
function isFixed({ algorithm, limit, burst, calendar }) {
  if (calendar?.even) return true
  return algorithm.kind === 'intervalBucket' && algorithm.parameters[3] === 1 && burst === limit
}

/** True if `policy` admits whatever `other` admits: at most `most(span)` units in any span of time, which is at most `once + rate * span`. */
function staysBelow(other, policy) {
  const bound = boundOf(other)
  if (bound === undefined) return false
  const { most, once, rate } = bound
  const { limit, window, burst } = policy
  switch (policy.algorithm.kind) {
    case 'slidingLog':
      return most(window) <= limit
    case 'intervalBucket':
      return burst === limit && most(window) <= limit
    case 'calendarWindow':
      return most(lengthsOf(policy)[1]) <= limit
    case 'slidingWindow': // the units of two windows, those of the first one in part
      return Math.min(most(2 * window), 2 * once + rate * window) <= limit
    case 'segmentedWindow':
      return most(2 * window) <= limit
    case 'bucket':
      return once <= burst && rate <= limit / window
    default:
      return false
  }
}

function boundOf(policy) {
  const { limit, window, burst, algorithm } = policy
  /** @param {number} length of a window @param {number} cut windows that a span touches beyond its whole ones */
  const windows = (length, cut) => ({
    most: (span) => limit * (Math.ceil(span / length) + cut),
    once: limit * (1 + cut),
    rate: limit / length,
  })
  switch (algorithm.kind) {
    case 'slidingLog':
    case 'segmentedWindow':
      return windows(window, 0)
    case 'slidingWindow':
      return windows(window, 1)
    case 'intervalBucket':
      return burst === limit ? windows(window, 1) : undefined
    case 'calendarWindow':
      return windows(lengthsOf(policy)[0], 1)
    case 'bucket':
      return { most: (span) => burst + (limit * span) / window, once: burst, rate: limit / window }
    default:
      return undefined
  }
}

function lengthsOf({ window, calendar: { every } }) {
  if (every === undefined) return [window, window]
  if (typeof every === 'string') return lengths[every]
  return [every.months * 28 * day - hour, every.months * 31 * day + hour]
}
