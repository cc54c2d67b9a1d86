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
/** The names of the validations. */
export type ValidationName = (typeof validationNames)[number]
/** For each validation: true if it runs. `default` applies to the validations without an entry. */
export type EnabledValidations = { [Name in ValidationName]?: boolean }
