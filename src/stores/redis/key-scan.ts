/** The commands that find and delete keys. */
export interface KeyScan {
  /** For each master, a function that looks at its next keys. The cursor begins and ends with `'0'`. */
  masters(): Promise<readonly ((cursor: string, pattern: string, count: number) => Promise<KeyPage>)[]>
  unlink(keys: readonly string[]): Promise<unknown>
}

interface KeyPage {
  readonly cursor: string
  readonly keys: readonly string[]
}

interface IoredisKeys {
  readonly options?: { readonly keyPrefix?: string }
  scan(cursor: string, ...options: (string | number)[]): Promise<readonly [cursor: unknown, keys: readonly unknown[]]>
  unlink(...keys: string[]): Promise<unknown>
}

interface IoredisClusterKeys extends IoredisKeys {
  readonly isCluster?: boolean
  nodes(role: 'master'): readonly IoredisKeys[]
}

/** ioredis puts its `keyPrefix` before the keys of commands, but not before patterns. */
export function ioredisScan(client: object): KeyScan {
  const keys = client as unknown as IoredisClusterKeys
  const prefix = keys.options?.keyPrefix ?? ''
  const literal = prefix.replace(/[\\*?[\]]/g, '\\$&')
  const scanOf = (node: IoredisKeys) => async (cursor: string, pattern: string, count: number) => {
    const [next, found] = await node.scan(cursor, 'MATCH', literal + pattern, 'COUNT', count)
    return { cursor: String(next), keys: found.map((key) => String(key).slice(prefix.length)) }
  }
  return {
    masters: async () => (keys.isCluster === true ? keys.nodes('master') : [keys]).map(scanOf),
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
  readonly masters?: readonly object[]
  nodeClient?(node: object): Promise<NodeRedisKeys> | NodeRedisKeys
}

export function nodeRedisScan(client: object): KeyScan {
  const keys = client as unknown as NodeRedisClusterKeys
  const scanOf =
    (node: NodeRedisKeys) =>
    async (cursor: string, MATCH: string, COUNT: number): Promise<KeyPage> => {
      const page = await node.scan(cursor, { MATCH, COUNT })
      return { cursor: String(page.cursor), keys: page.keys.map(String) }
    }
  return {
    async masters() {
      const nodes = await Promise.all(
        (keys.nodeClient === undefined ? [] : (keys.masters ?? [])).map((node) => keys.nodeClient?.(node)),
      )
      return nodes.length === 0 ? [scanOf(keys)] : nodes.map((node) => scanOf(node as NodeRedisKeys))
    },
    unlink: (names) => keys.unlink(names),
  }
}
