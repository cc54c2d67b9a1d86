/*
 * Deletes the keys of a limiter in steps, so that Redis serves other calls in between: SCAN looks at some keys, and UNLINK
 * frees those that match in the background. A key that is written meanwhile may stay.
 */
import { Deadlines } from '../../contract/index.ts'
import { type Connection, keyScanOf, nextKeys } from '../client/index.ts'

/** How many keys of the server one step looks at. */
const scannedAtOnce = 1000

/** How long one step may take, in milliseconds. */
const stepTimeout = 10_000

/**
 * Deletes every key that begins with `start`, on every master.
 * @throws HeadgateError `HEADGATE_UNSUPPORTED` if the client cannot list keys
 */
export async function clearKeys(connection: Connection, start: string): Promise<void> {
  const keyScan = keyScanOf(connection)
  const deadlines = new Deadlines('Redis', stepTimeout, 'Some keys may be left. Call clear again.')
  let from: unknown
  do {
    const { keys, next } = await deadlines.bound(nextKeys(keyScan, `${start}*`, scannedAtOnce, from))
    // In Redis Cluster, the keys of one command have to be in one slot.
    const groups = connection.cluster ? keys.map((key) => [key]) : [keys]
    await deadlines.bound(Promise.all(groups.map((group) => group.length > 0 && keyScan.unlink(group))))
    from = next
  } while (from !== undefined)
}
