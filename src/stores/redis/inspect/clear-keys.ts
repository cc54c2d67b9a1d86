/*
 * Deletes all keys of a limiter in steps, so that Redis serves other calls between the steps: SCAN finds some keys, and UNLINK
 * deletes them and frees their memory in the background. A key that a call writes during the deletion may stay.
 */
import { Deadlines } from '../../contract/index.ts'
import { type Connection, keyScanOf, nextKeys } from '../client/index.ts'

/** How many keys of the server SCAN compares with the pattern in one step. */
const scannedAtOnce = 1000

/** How long one step may take, in milliseconds. */
const stepTimeout = 10_000

/**
 * Deletes every key that begins with `start`, on every master of the server or Cluster.
 * @throws HeadgateError `HEADGATE_UNSUPPORTED` if the client cannot list keys
 */
export async function clearKeys(connection: Connection, start: string): Promise<void> {
  const keyScan = keyScanOf(connection)
  const deadlines = new Deadlines('Redis', stepTimeout, 'Some keys may be left. Call clear again.')
  let from: unknown
  do {
    const { keys, next } = await deadlines.bound(nextKeys(keyScan, `${start}*`, scannedAtOnce, from))
    // In Redis Cluster, all keys of one command have to be in one slot, so a separate command is sent for each key.
    const groups = connection.cluster ? keys.map((key) => [key]) : [keys]
    await deadlines.bound(Promise.all(groups.map((group) => group.length > 0 && keyScan.unlink(group))))
    from = next
  } while (from !== undefined)
}
