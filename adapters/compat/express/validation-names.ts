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
/** Which validations run; `default` is for those that are not named. */
export type EnabledValidations = { [Name in ValidationName]?: boolean }
