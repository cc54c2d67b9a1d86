import { ok, problem, recordsCheck, warning } from './checks.mjs'

export async function checkSqlite(database, inspector, table) {
  const one = (text, ...values) => database.prepare(text).get(...values)
  const { version } = one('SELECT sqlite_version() AS version')
  const { quick_check: damage } = one('PRAGMA quick_check(1)')
  const { expired } = one(`SELECT count(*) AS expired FROM "${table}" WHERE expires < ?`, Date.now())
  return [
    ok('driver', `SQLite ${version}`),
    damage === 'ok'
      ? ok('file', 'no damage found')
      : problem('file', damage, 'Restore a copy, or delete the file and begin with full quotas.'),
    ok('table', table),
    expired > 100_000
      ? warning('expiry', `${expired} expired rows wait to be deleted`, 'Calls delete rows as they come.')
      : ok('expiry', `${expired} expired rows wait to be deleted`),
    (await recordsCheck(inspector)).check,
  ]
}
