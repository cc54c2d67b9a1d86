import { HeadgateError } from '../../common/index.ts'

/** Result codes of SQLite (sqlite.org/rescode.html). An extended code has one of these codes in its low byte. */
const code = { busy: 5, locked: 6, readOnly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 }

const names: Readonly<Record<string, number>> = {
  BUSY: code.busy,
  LOCKED: code.locked,
  READONLY: code.readOnly,
  IOERR: code.ioError,
  CORRUPT: code.corrupt,
  FULL: code.full,
  CANTOPEN: code.cannotOpen,
  NOTADB: code.notADatabase,
}

const fixes = new Map([
  [code.readOnly, 'Make the file and its folder writable for this process.'],
  [code.corrupt, 'The file is damaged: restore a copy, or delete the file and begin with full quotas.'],
  [code.notADatabase, 'The file is damaged or no database: restore a copy, or choose another file.'],
  [code.full, 'Make room on the disk.'],
  [code.cannotOpen, 'Check that the folder of the file exists and can be written.'],
])

/** The results after which SQLite has certainly saved nothing. If the disk is full, it rolls back (sqlite.org/lang_transaction.html). */
const writesNothing = new Set<number | undefined>([code.readOnly, code.full])

/** The primary result code of a driver's error; undefined if the error does not come from SQLite. */
function resultOf(error: unknown): number | undefined {
  const { errcode, rawCode, code: text } = Object(error) as Record<string, unknown>
  for (const given of [errcode, rawCode]) if (typeof given === 'number') return given & 0xff
  const [, name = ''] = /^SQLITE_([A-Z]+)/.exec(String(text)) ?? []
  return names[name]
}

/** True if the statement failed because another connection had locked the file. */
export function isBusy(error: unknown): boolean {
  const result = resultOf(error)
  return result === code.busy || result === code.locked
}

/** The error for a call that failed. @param written true if it is not known whether SQLite has saved the result of the call */
export function sqliteError(cause: unknown, timeout: number, written: boolean): HeadgateError {
  if (cause instanceof HeadgateError) return cause
  const options = { cause, uncounted: !written || writesNothing.has(resultOf(cause)) }
  if (isBusy(cause)) {
    const fix = 'Keep transactions on the file short, set a longer timeout, or choose postgresStore for many processes.'
    const message = `Another connection had the file of SQLite locked for ${timeout} ms. The call did not count. ${fix}`
    return new HeadgateError('HEADGATE_STORE_TIMEOUT', message, options)
  }
  const message = cause instanceof Error ? cause.message : String(cause)
  const nested = /transaction within a transaction/.test(message)
  const fix = nested ? 'Give the store a connection of its own.' : (fixes.get(resultOf(cause) ?? 0) ?? '')
  return new HeadgateError('HEADGATE_STORE', `SQLite failed: ${message.replace(/\.?$/, '.')} ${fix}`.trim(), options)
}
