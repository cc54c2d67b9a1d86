import { existsSync } from 'node:fs'
import { inspectSqlite, sqliteStore } from 'headgate/sqlite'
import Database from 'libsql'
import { UsageError } from '../cli/usage-error.mjs'
import { checkSqlite } from './check-sqlite.mjs'
import { limitersIn } from './limiter-of.mjs'

/** Opens the file, which has to exist. @throws UsageError */
export async function openSqlite(file, { prefix, table }) {
  if (!existsSync(file))
    throw new UsageError(`There is no file ${file}.`, 'Give the path that the driver of the store opens.')
  let database
  try {
    database = new Database(file)
    database.prepare('PRAGMA schema_version').get()
    const inspector = inspectSqlite(database, { prefix, table })
    const check = () => checkSqlite(database, inspector, table)
    const limiterOf = limitersIn(() => sqliteStore({ database, prefix, table, timeout: 5000 }))
    return { server: file, inspector, inspectorOf: () => inspector, limiterOf, check, close: () => database.close() }
  } catch (error) {
    database?.close()
    if (error.code === 'HEADGATE_OPTION') throw error
    throw new UsageError(`${file} cannot be read: ${error.message.replace(/\.$/, '')}.`, 'Check the path, and --table.')
  }
}
