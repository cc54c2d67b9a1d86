/*
 * The clients a user may hand in, told apart by what they can do, never by their name. None is imported.
 */
import { HeadgateError, shown } from '../../errors.ts'

type Listener = () => void

/** ioredis and iovalkey: `Redis`, also with sentinels, and `Cluster`. */
export interface IoredisLike {
  readonly status?: string
  readonly isCluster?: boolean
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: (string | Buffer)[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | Buffer)[]): Promise<unknown>
  on(event: string, listener: () => void): unknown
}

/** node-redis: a client, a cluster, a pool, a sentinel. */
export interface NodeRedisLike {
  readonly isReady?: boolean
  readonly isOpen?: boolean
  evalSha(sha: string, options: { keys: string[]; arguments: Buffer[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: Buffer[] }): Promise<unknown>
}

export type RedisClient = IoredisLike | NodeRedisLike

/** What the store needs of a client. */
export interface Connection {
  /** Whether keys of one call have to be in one slot. */
  readonly cluster: boolean
  /** False while a call would only wait in the client for a connection. */
  ready(): boolean
  evalSha(sha: string, keys: string[], packed: Buffer[]): Promise<unknown>
  eval(script: string, keys: string[], packed: Buffer[]): Promise<unknown>
  /** Tells of a lost connection, after which the client may send again what it has already sent. */
  onLost(listener: Listener): void
}

/** @throws HeadgateError `HEADGATE_OPTION` if it is no client that is known here */
export function connectionOf(client: unknown): Connection {
  if (can(client, 'evalSha') && can(client, 'eval')) return nodeRedis(client as NodeRedisLike)
  if (can(client, 'evalsha') && can(client, 'eval') && can(client, 'on')) return ioredis(client as IoredisLike)
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `redisStore: client must be a client of ioredis, redis (node-redis) or iovalkey, got ${shown(client)}. ` +
      'Write redisStore({ client: new Redis() }), or redisStore({ client: await createClient().connect() }).',
  )
}

function can(client: unknown, method: string): boolean {
  return typeof client === 'object' && client !== null && typeof Reflect.get(client, method) === 'function'
}

function nodeRedis(client: NodeRedisLike): Connection {
  return {
    cluster: can(client, 'getSlotRandomNode'),
    ready: () => client.isReady ?? client.isOpen ?? true,
    evalSha: (sha, keys, packed) => client.evalSha(sha, { keys, arguments: packed }),
    eval: (script, keys, packed) => client.eval(script, { keys, arguments: packed }),
    onLost: () => {}, // it never sends a call twice
  }
}

/** The states of ioredis in which a call would be queued. Not `wait`: there the first call makes the connection. */
const queueing = new Set(['connecting', 'connect', 'reconnecting', 'close'])

interface IoredisNodes {
  nodes(): IoredisLike[]
}

function ioredis(client: IoredisLike): Connection {
  return {
    cluster: client.isCluster === true,
    ready: () => !queueing.has(client.status ?? 'ready'),
    evalSha: (sha, keys, packed) => client.evalsha(sha, keys.length, ...keys, ...packed),
    eval: (script, keys, packed) => client.eval(script, keys.length, ...keys, ...packed),
    onLost(listener) {
      const known = listeners.get(client)
      if (known !== undefined) known.add(listener)
      else listen(client, new Set([listener]))
    },
  }
}

/** One listener at a client, however many stores use it. */
const listeners = new WeakMap<IoredisLike, Set<Listener>>()

function listen(client: IoredisLike, all: Set<Listener>): void {
  listeners.set(client, all)
  const lost = () => {
    for (const listener of all) listener()
  }
  client.on('close', lost)
  if (client.isCluster !== true) return
  for (const node of (client as unknown as IoredisNodes).nodes()) node.on('close', lost)
  const joined = (node: IoredisLike) => node.on('close', lost)
  client.on('+node', joined as () => void)
}
