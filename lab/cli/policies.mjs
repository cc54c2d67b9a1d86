import { policyFrom } from '../engine/policy-from.mjs'
import { UsageError } from './usage-error.mjs'

/** The policies of the command line. @throws HeadgateError for an invalid text, UsageError without a policy */
export function policiesOf(texts, use) {
  if (texts === undefined) throw new UsageError('No policy is given.', `Write: headgate-lab ${use}`)
  return [...new Set(texts)].map((text) => ({ text, policy: rateOf(text) }))
}

function rateOf(text) {
  const made = policyFrom(text)
  if (made.algorithm.leases) {
    throw new UsageError(
      `${JSON.stringify(text)} limits requests in flight, and nothing here says when a request ends.`,
      "Give a rate, such as '30/1m'.",
    )
  }
  return made
}
