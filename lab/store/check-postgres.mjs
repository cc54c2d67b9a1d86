import { clockCheck, ok, problem, recordsCheck, warning } from './checks.mjs'

const rights = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']

export async function checkPostgres(pool, inspector, table) {
  const one = async (text, ...values) => (await pool.query(text, values)).rows[0]
  const { version, replica } = await one(
    "select current_setting('server_version') as version, pg_is_in_recovery() as replica",
  )
  const server = replica
    ? problem('server', `PostgreSQL ${version}, a replica that takes no writes`, 'Connect to the primary.')
    : ok('server', `PostgreSQL ${version}`)
  const { found } = await one('select to_regclass($1) is not null as found', quoted(table))
  if (!found)
    return [server, problem('table', `there is no table ${table}`, `Run: npx headgate-postgres ${table} | psql <url>`)]
  const missing = await missingRights(one, table)
  const clock = await clockCheck(async () => {
    return Number((await one('select extract(epoch from clock_timestamp()) * 1000 as now')).now)
  }, 'Set the clocks by NTP. Limiters go by the clock of Postgres unless you give them one.')
  const checks = [server, ok('table', table), rightsCheck(missing, table), clock]
  if (missing.includes('SELECT')) return checks // the rest cannot be read
  return [...checks, await expiredCheck(one, table), (await recordsCheck(inspector)).check]
}

async function missingRights(one, table) {
  const columns = rights.map((right) => `has_table_privilege($1, '${right}') as "${right}"`)
  const has = await one(`select ${columns.join(', ')}`, quoted(table))
  return rights.filter((right) => !has[right])
}

function rightsCheck(missing, table) {
  if (missing.length === 0) return ok('rights', `${rights.join(', ')} are granted`)
  return problem(
    'rights',
    `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
    `GRANT ${missing.join(', ')} ON ${table} TO <user>`,
  )
}

async function expiredCheck(one, table) {
  const { expired, size } = await one(
    `select count(*) filter (where expires < now()) as expired, pg_size_pretty(pg_total_relation_size($1)) as size from ${quoted(table)}`,
    quoted(table),
  )
  const found = `${expired} expired rows wait to be deleted, and the table has ${size}`
  return Number(expired) > 100_000
    ? warning('expiry', found, 'Calls delete rows as they come. Run VACUUM if the table stays large.')
    : ok('expiry', found)
}

/** The store has checked that the name is made of letters, digits, _ and a dot. */
function quoted(table) {
  return table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
}
