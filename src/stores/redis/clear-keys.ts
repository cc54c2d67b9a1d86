/*
 * Deletes the keys of a limiter in steps, so that Redis serves other calls in between: SCAN looks at some keys, and UNLINK
 * frees those that match in the background. A key that is written meanwhile may stay.
 */
import { Deadlines } from '../deadlines.ts'
import type { Connection } from './client.ts'
import { type KeyScan, keyScanOf, type ScanKeys } from './key-scan.ts'

/** How many keys of the server one step looks at. */
const scannedAtOnce = 1000

/** How long one step may take, in milliseconds. */
const stepTimeout = 10_000

/**
 * Deletes every key that begins so, on every master.
 * @throws HeadgateError `HEADGATE_UNSUPPORTED` if the client cannot list keys
 */
export async function clearKeys(connection: Connection, start: string): Promise<void> {
  const keyScan = keyScanOf(connection)
  const deadlines = new Deadlines('Redis', stepTimeout, 'Some keys may be left. Call clear again.')
  const within = <T>(answer: Promise<T>): Promise<T> => deadlines.bound(answer)
  const scans = await within(keyScan.masters())
  await Promise.all([...scans.values()].map((scan) => clearMaster(keyScan, scan, start, connection.cluster, within)))
}

async function clearMaster(
  { unlink }: KeyScan,
  scan: ScanKeys,
  start: string,
  cluster: boolean,
  within: <T>(answer: Promise<T>) => Promise<T>,
): Promise<void> {
  let cursor = '0'
  do {
    const page = await within(scan(cursor, `${start}*`, scannedAtOnce))
    // In Redis Cluster, the keys of one command have to be in one slot.
    if (cluster) await within(Promise.all(page.keys.map((key) => unlink([key]))))
    else if (page.keys.length > 0) await within(unlink(page.keys))
    cursor = page.cursor
  } while (cursor !== '0')
}
