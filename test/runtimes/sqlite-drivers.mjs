/*
 * Plays the contract of a store on a file of SQLite by one driver, named in the first argument. Prints how many cases were played, and
 * those that failed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'headgate/sqlite'
import { testStore } from 'headgate/testing'

const drivers = {
  async 'node:sqlite'() {
    const { DatabaseSync } = await import('node:sqlite')
    return (path) => new DatabaseSync(path)
  },
  async 'bun:sqlite'() {
    const { Database } = await import('bun:sqlite')
    return (path) => new Database(path)
  },
  async 'better-sqlite3'() {
    const { default: Database } = await import('better-sqlite3')
    return (path) => new Database(path)
  },
}

const open = await drivers[process.argv[2]]()
const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-'))
const cases = []
let files = 0
const create = (clock) =>
  sqliteStore({ database: open(join(folder, `${files++}.db`)), clock, ttlMargin: '1d', timeout: '10s' })
testStore({ name: process.argv[2], create, test: (name, run) => cases.push({ name, run }) })
const differences = []
for (const { name, run } of cases) {
  await run().catch((error) => differences.push(`${name}: ${error.stack}`))
}
rmSync(folder, { recursive: true, force: true })
console.log(JSON.stringify({ checked: cases.length, differences }))
