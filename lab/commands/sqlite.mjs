import { openSqlite } from '../store/sqlite.mjs'
import { storeCommand } from './store.mjs'

const own = { table: { type: 'string', default: 'headgate', help: 'NAME', about: 'the table of the store' } }

export const sqlite = storeCommand('sqlite', 'limits.db', own, (file, { prefix, table }) =>
  openSqlite(file, { prefix, table }),
)
