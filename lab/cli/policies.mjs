import { policiesFrom } from 'headgate/policy-file'
import { policyFrom } from '../engine/policy-from.mjs'
import { UsageError } from './usage-error.mjs'

/** The policies of the command line. @throws HeadgateError for an invalid text, UsageError without a policy */
export function policiesOf(texts, use) {
  if (texts === undefined) throw new UsageError('No policy is given.', `Write: headgate-lab ${use}`)
  return [...new Set(texts)].map((text) => ({ text, policy: rateOf(text) }))
}

function rateOf(text) {
  const made = policyFrom(text)
  checkRate(made, text)
  return made
}

/** @param {any} policy @param {string} text @throws UsageError for a policy that no log and no workload can play */
export function checkRate({ algorithm, calendar }, text) {
  if (algorithm.leases) {
    throw new UsageError(
      `${JSON.stringify(text)} limits requests in flight, and nothing here says when a request ends.`,
      "Give a rate, such as '30/1m'.",
    )
  }
  if (calendar === undefined || calendar.asks.length === 0) return
  throw new UsageError(
    `${JSON.stringify(text)} asks each call for the ${calendar.asks.join(' and the ')}, and nothing here says them.`,
    'Give a day or a time zone in place of "caller".',
  )
}

/** The policies of a file, as they are now. @throws HeadgateError for an invalid file, with the line */
export function openPolicies(path) {
  const file = policiesFrom(path)
  file.close() // it is read once
  return file
}
