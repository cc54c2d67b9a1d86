import { openPostgres } from '../store/postgres.mjs'
import { storeCommand } from './store.mjs'

const own = { table: { type: 'string', default: 'headgate', help: 'NAME', about: 'the table of the store' } }

export const postgres = storeCommand('postgres', 'postgres://localhost', own, (url, { prefix, table }) =>
  openPostgres(url, { prefix, table }),
)
