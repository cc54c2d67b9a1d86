/*
 * Makes calls on a file of SQLite, and writes a line to the standard output after each admitted one: the number of its units so
 * far. The arguments: the path of the file, the option `synchronous`, and how many calls to make.
 */
import { writeSync } from 'node:fs'
import { RateLimiter } from 'headgate'
import { calendarWindow } from 'headgate/calendar'
import { sqliteStore } from 'headgate/sqlite'
import Database from 'libsql'
import { midMonth } from './mid-month.mjs'

const [path, synchronous, calls] = process.argv.slice(2)
const store = sqliteStore({ database: new Database(path), synchronous, timeout: '10s' })
const limiter = new RateLimiter({ name: 'api', policies: calendarWindow(midMonth), store, onStoreError: 'throw' })
for (let n = 1; n <= Number(calls); n++) {
  if (!limiter.consumeSync('ann').allowed) throw new Error('refused')
  writeSync(1, `answered ${n}\n`)
}
