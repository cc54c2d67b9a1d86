import { HeadgateError, shown } from '../../common/index.ts'

/** The version of the table's layout. A table of another version is refused. */
export const layout = '1'

/** The key of the row that has the layout's version. No states have this key, because all other keys begin with the store's prefix. */
export const layoutKey = ''

/** How many rows one statement lists, or clears. */
export const pageSize = 100

/** How many rows are saved between two sweeps. A sweep checks twice as many rows, so the number of expired rows stays small. */
export const sweepEvery = 100
const sweepSize = 200

/** The statements of a store in one table. Times are milliseconds since the epoch. */
export class Sql {
  readonly table: string
  readonly create: readonly string[]
  readonly read: string
  readonly save: string
  /** The statement that saves the row of a key, unless the key has a row already. */
  readonly add: string
  /** The statement that saves the row of a key, if the text in the row still is the text in the last parameter. */
  readonly swap: string
  readonly page: string
  readonly remove: string
  /** The statement that checks the next rows after a key. It returns the last key of these rows, and how many of the rows have expired. */
  readonly sweepEnd: string
  /** The statement that deletes the expired rows after one key, up to and including another key. */
  readonly sweep: string
  readonly clear: string

  /** @throws HeadgateError `HEADGATE_OPTION` if the name of the table is invalid */
  constructor(table: string) {
    if (!/^(?!sqlite_)[a-z_]\w{0,62}$/i.test(table)) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `table must be a letter or _, then at most 62 letters, digits and _, and not begin with sqlite_, got ${shown(table)}. Write table: 'headgate'.`,
      )
    }
    const quoted = `"${table}"` // a table may be named like a word of SQL
    this.table = quoted
    this.create = [
      `CREATE TABLE IF NOT EXISTS ${quoted} (key TEXT PRIMARY KEY, record TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID`,
      `INSERT OR IGNORE INTO ${quoted} (key, record, expires) VALUES ('${layoutKey}', '${layout}', ${Number.MAX_SAFE_INTEGER})`,
    ]
    this.read = `SELECT record FROM ${quoted} WHERE key = ?`
    this.save = `INSERT INTO ${quoted} VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record, expires = excluded.expires`
    this.add = `INSERT INTO ${quoted} VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING`
    this.swap = `UPDATE ${quoted} SET record = ?, expires = ? WHERE key = ? AND record = ?`
    this.page = `SELECT key, record FROM ${quoted} WHERE key > ? AND key < ? ORDER BY key LIMIT ${pageSize}`
    this.remove = `DELETE FROM ${quoted} WHERE key = ?`
    this.sweepEnd = `SELECT max(key) AS last, total(expires < ?) AS expired FROM (SELECT key, expires FROM ${quoted} WHERE key > ? ORDER BY key LIMIT ${sweepSize})`
    this.sweep = `DELETE FROM ${quoted} WHERE key > ? AND key <= ? AND expires < ?`
    this.clear = `DELETE FROM ${quoted} WHERE key IN (SELECT key FROM ${quoted} WHERE key > ? AND key < ? LIMIT ${pageSize})`
  }

  /** Returns the statement that reads the rows of this number of keys. */
  readAll(keys: number): string {
    return `SELECT key, record FROM ${this.table} WHERE key IN (${Array.from({ length: keys }, () => '?').join(', ')})`
  }
}

/** A text that sorts after all keys that begin with `start`: the colon at the end of `start` is replaced by the next character. */
export function endOf(start: string): string {
  return `${start.slice(0, -1)};`
}

export function otherLayout(table: string, found: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The table ${table} has layout ${shown(found)}, and this version reads layout ${layout}. Choose another table, or delete that one.`,
  )
}
