export const validationNames = [
  'ip',
  'trustProxy',
  'xForwardedForHeader',
  'forwardedHeader',
  'positiveHits',
  'unsharedStore',
  'singleCount',
  'limit',
  'draftPolliHeaders',
  'onLimitReached',
  'headersDraftVersion',
  'headersResetTime',
  'knownOptions',
  'validationsConfig',
  'creationStack',
  'ipv6Subnet',
  'ipv6SubnetOrKeyGenerator',
  'keyGeneratorIpFallback',
  'windowMs',
  'default',
] as const
/** The name of a validation, which looks for one kind of mistake in the use of the limiter. */
export type ValidationName = (typeof validationNames)[number]
/** True for each validation that runs, by the validation's name. `default` applies to the validations without an entry. */
export type EnabledValidations = { [Name in ValidationName]?: boolean }
