import { HeadgateError } from '../../../common/index.ts'

/** Reads the next keys of a server with SCAN. The cursor is `'0'` for the first page, and after the last page. */
type ScanKeys = (cursor: string, pattern: string, count: number) => Promise<KeyPage>

/** The commands that find and delete keys. */
export interface KeyScan {
  /**
   * For each server that has keys, by the server's address: a function that lists keys of this server. The servers are all
   * masters of a Cluster, or the single server.
   */
  masters(): Promise<ReadonlyMap<string, ScanKeys>>
  unlink(keys: readonly string[]): Promise<unknown>
}

interface KeyPage {
  readonly cursor: string
  readonly keys: readonly string[]
}

/** Where the next page of keys starts: on the first server of `servers`, at `cursor`. The other servers were not read yet. */
interface Position {
  readonly servers: readonly string[]
  readonly cursor: string
}

/** Returns the commands that list keys. @throws HeadgateError `HEADGATE_UNSUPPORTED` if the client cannot list keys */
export function keyScanOf({ keyScan }: { readonly keyScan: KeyScan | undefined }): KeyScan {
  if (keyScan !== undefined) return keyScan
  throw new HeadgateError(
    'HEADGATE_UNSUPPORTED',
    'This Redis client has no commands scan and unlink, so the keys of a limiter cannot be found. Inspect or reset single keys.',
  )
}

/**
 * The next page of keys. All keys of one server come before the keys of the next server.
 * @param pattern the pattern of SCAN, without the prefix that the client adds to keys
 * @param count how many keys the server compares with the pattern for one page
 * @param from the field `next` of the last page; undefined for the first page
 */
export async function nextKeys(
  keyScan: KeyScan,
  pattern: string,
  count: number,
  from?: unknown,
): Promise<{ readonly keys: readonly string[]; readonly next: Position | undefined }> {
  const masters = await keyScan.masters()
  const { servers, cursor } = (from as Position | undefined) ?? { servers: [...masters.keys()], cursor: '0' }
  const [server = '', ...others] = servers
  // A server that has left the Cluster since the last page has no more keys.
  const page = (await masters.get(server)?.(cursor, pattern, count)) ?? { keys: [], cursor: '0' }
  if (page.cursor !== '0') return { keys: page.keys, next: { servers, cursor: page.cursor } }
  return { keys: page.keys, next: others.length === 0 ? undefined : { servers: others, cursor: '0' } }
}

interface IoredisKeys {
  readonly options?: { readonly keyPrefix?: string; readonly host?: string; readonly port?: number }
  scan(cursor: string, ...options: (string | number)[]): Promise<readonly [cursor: unknown, keys: readonly unknown[]]>
  unlink(...keys: string[]): Promise<unknown>
}

interface IoredisClusterKeys extends IoredisKeys {
  readonly isCluster?: boolean
  nodes(role: 'master'): readonly IoredisKeys[]
}

/** Clients add their option `keyPrefix` to the keys of commands, but not to patterns. So this function adds the prefix to the pattern. */
function scanBehind(prefix: string, scan: ScanKeys): ScanKeys {
  const literal = prefix.replace(/[\\*?[\]]/g, '\\$&')
  return async (cursor, pattern, count) => {
    const page = await scan(cursor, literal + pattern, count)
    return { cursor: page.cursor, keys: page.keys.map((key) => key.slice(prefix.length)) }
  }
}

export function ioredisScan(client: object): KeyScan {
  const keys = client as unknown as IoredisClusterKeys
  const scanOf = (node: IoredisKeys): ScanKeys =>
    scanBehind(keys.options?.keyPrefix ?? '', async (cursor, pattern, count) => {
      const [next, found] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', count)
      return { cursor: String(next), keys: found.map(String) }
    })
  return {
    async masters() {
      if (keys.isCluster !== true) return new Map([['', scanOf(keys)]])
      return new Map(keys.nodes('master').map((node) => [`${node.options?.host}:${node.options?.port}`, scanOf(node)]))
    },
    unlink: (names) => keys.unlink(...names),
  }
}

interface NodeRedisKeys {
  scan(
    cursor: string,
    options: { MATCH: string; COUNT: number },
  ): Promise<{ cursor: unknown; keys: readonly unknown[] }>
  unlink(keys: readonly string[]): Promise<unknown>
}

interface NodeRedisClusterKeys extends NodeRedisKeys {
  /** The option `keyPrefix`. Only since version 6. */
  readonly _keyPrefix?: string | Uint8Array
  readonly masters?: readonly { readonly address: string }[]
  nodeClient?(node: object): Promise<NodeRedisKeys> | NodeRedisKeys
}

export function nodeRedisScan(client: object): KeyScan {
  const keys = client as unknown as NodeRedisClusterKeys
  const { _keyPrefix: own = '' } = keys
  const prefix = typeof own === 'string' ? own : Buffer.from(own).toString()
  const scanOf = (node: NodeRedisKeys): ScanKeys =>
    scanBehind(prefix, async (cursor, MATCH, COUNT) => {
      const page = await node.scan(cursor, { MATCH, COUNT })
      return { cursor: String(page.cursor), keys: page.keys.map(String) }
    })
  return {
    async masters() {
      const { masters, nodeClient } = keys
      if (masters === undefined || nodeClient === undefined) return new Map([['', scanOf(keys)]])
      const scans = masters.map(async (node) => [node.address, scanOf(await nodeClient.call(keys, node))] as const)
      return new Map(await Promise.all(scans))
    },
    unlink: (names) => keys.unlink(names),
  }
}
