import { channel } from '#platform'
import type { Channel } from '../platform/platform.ts'

/** Tells of every call that a store could not decide. Apart from what users see, whose types need none of Node's. */
export const storeErrors: Channel = channel('headgate:store-error')
