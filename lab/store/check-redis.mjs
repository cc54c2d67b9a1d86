import { clockCheck, ok, problem, recordsCheck, warning } from './checks.mjs'

/** Every command that headgate uses, on a key that does not exist, in a form that changes nothing. */
const harmless = (key) => ({
  EVALSHA: ['0'.repeat(40), 1, key],
  EVAL: ['return 1', 1, key],
  MGET: [key],
  SET: [key, '', 'XX', 'PX', 1],
  SETRANGE: [key, 0, ''],
  DEL: [key],
  TIME: [],
})

/** The most keys whose time to live is looked up. */
const mostTimes = 10_000

export async function checkRedis(client, inspector, prefix, clustered) {
  const info = await infoOf(clustered ? client.nodes('master')[0] : client)
  const keys = []
  const { check } = await recordsCheck(inspector, ({ storeKey }) => {
    if (keys.length < mostTimes) keys.push(storeKey)
  })
  return [
    versionCheck(info, clustered),
    await commandsCheck(client, prefix),
    await scriptCheck(clustered ? client.nodes('master') : [client], inspector.scriptSha),
    await clockCheck(async () => {
      const [seconds, micros] = await client.time()
      return seconds * 1000 + micros / 1000
    }, "Set the clocks by NTP. It matters with time: 'client'; the default goes by the clock of Redis."),
    evictionCheck(info),
    memoryCheck(info),
    check,
    await lifeCheck(client, keys),
  ]
}

/** The values of INFO. Empty if the user may not call INFO. @returns {Promise<Record<string, any>>} */
async function infoOf(client) {
  const text = await client.info().catch(() => '')
  return Object.fromEntries(text.split(/\r?\n/).map((line) => line.split(/:(.*)/s).slice(0, 2)))
}

/** @param {Record<string, any>} info */
function versionCheck({ redis_version: redis, valkey_version: valkey }, clustered) {
  const mode = clustered ? ', in a Cluster' : ''
  if (valkey !== undefined) return ok('server', `Valkey ${valkey}${mode}`)
  if (redis === undefined)
    return warning('server', 'its version is not known, because INFO is not allowed', 'Allow +info.')
  if (Number.parseInt(redis, 10) >= 5) return ok('server', `Redis ${redis}${mode}`)
  return problem('server', `Redis ${redis}`, 'Use Redis 5 or later, or Valkey.')
}

async function commandsCheck(client, prefix) {
  const failures = []
  for (const [command, args] of Object.entries(harmless(`${prefix}:~check:{lab}`))) {
    const { message = '' } =
      (await client.call(command, ...args).then(
        () => undefined,
        (error) => error,
      )) ?? {}
    if (message !== '' && !message.startsWith('NOSCRIPT')) failures.push(`${command}: ${message}`)
  }
  if (failures.length === 0) return ok('commands', `${Object.keys(harmless('')).join(', ')} are allowed on ${prefix}:*`)
  const readOnly = failures.some((text) => text.includes('READONLY'))
  const fix = readOnly
    ? 'Connect to the master.'
    : `ACL SETUSER <user> ~${prefix}:* +evalsha +eval +mget +set +setrange +del +time`
  return problem('commands', failures.join('; '), fix)
}

async function scriptCheck(nodes, sha) {
  const found = await Promise.all(nodes.map((node) => node.script('EXISTS', sha).catch(() => undefined)))
  if (found.includes(undefined))
    return warning(
      'script',
      'the script cache cannot be seen, because SCRIPT EXISTS is not allowed',
      'Allow +script|exists to see it. Limiters do not need it.',
    )
  if (found.every(([there]) => there === 1))
    return ok('script', `the whole script of this version is loaded (${sha.slice(0, 8)})`)
  // The usual calls have scripts of their own, whose names depend on the policies.
  return ok('script', `no call has needed the whole script of this version yet (${sha.slice(0, 8)})`)
}

/** @param {Record<string, any>} info */
function evictionCheck({ maxmemory_policy: policy, maxmemory }) {
  if (policy === undefined)
    return warning('eviction', 'the policy is not known, because INFO is not allowed', 'Allow +info.')
  if (maxmemory === '0') return ok('eviction', `${policy}, without maxmemory: nothing is evicted`)
  if (policy === 'noeviction')
    return ok('eviction', 'noeviction: a full server refuses writes, and onStoreError decides')
  return warning(
    'eviction',
    `${policy}: a full server forgets keys that are limited`,
    'Set maxmemory-policy noeviction, or give limiters a server of their own.',
  )
}

/** @param {Record<string, any>} info */
function memoryCheck({ used_memory: used, used_memory_human: human, maxmemory, maxmemory_human: most }) {
  if (used === undefined) return warning('memory', 'it is not known, because INFO is not allowed', 'Allow +info.')
  if (maxmemory === '0') return ok('memory', `${human} used, no maxmemory`)
  const share = Number(used) / Number(maxmemory)
  const found = `${human} of ${most} used (${Math.round(share * 100)} %)`
  const fix = 'Give Redis more memory, or fewer keys.'
  return share > 0.95
    ? problem('memory', found, fix)
    : share > 0.8
      ? warning('memory', found, fix)
      : ok('memory', found)
}

async function lifeCheck(client, keys) {
  const lives = await Promise.all(keys.map((key) => client.pttl(key).catch(() => undefined)))
  if (lives.includes(undefined))
    return warning('expiry', 'it cannot be seen, because PTTL is not allowed', 'Allow +pttl to see it.')
  const forever = keys.filter((_, n) => lives[n] === -1)
  if (forever.length === 0) return ok('expiry', `each of ${keys.length} keys expires by itself`)
  return warning(
    'expiry',
    `${forever.length} keys never expire, such as ${forever[0]}`,
    'A limiter never writes such a key. Delete it with reset.',
  )
}
