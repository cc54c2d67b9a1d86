/*
 * The clients that redisStore takes. Clients are recognised by their methods, never by their name. No client is imported.
 */
import { invalidOption, monotonicClock, tooOld } from '../../../common/index.ts'
import { errorsOf } from './client-errors.ts'
import { sendByIoredis } from './ioredis-command.ts'
import { ioredisScan, type KeyScan, nodeRedisScan } from './key-scan.ts'
import { isPool, poolReady } from './node-redis-pool.ts'
import { isSentinel, type NodeRedisSentinel, SentinelMaster } from './node-redis-sentinel.ts'
import { type SendScript, withBytes } from './script-call.ts'

type Listener = () => void

/** ioredis and iovalkey: `Redis`, also with sentinels, and `Cluster`. */
export interface IoredisLike {
  readonly status?: string
  readonly isCluster?: boolean
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: (string | number | Uint8Array)[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | number | Uint8Array)[]): Promise<unknown>
  on(event: string, listener: () => void): unknown
}

/** The keys and arguments of a script call. headgate always passes both: texts as keys, bytes as arguments. */
interface NodeRedisEvalOptions {
  keys?: (string | Uint8Array)[]
  arguments?: (string | Uint8Array)[]
}

/** node-redis: a client, a cluster, a pool or a sentinel. */
export interface NodeRedisLike {
  readonly isReady?: boolean
  readonly isOpen?: boolean
  evalSha(sha: string, options?: NodeRedisEvalOptions): Promise<unknown>
  eval(script: string, options?: NodeRedisEvalOptions): Promise<unknown>
}

/** A client of Redis, for `redisStore` and `inspectRedis`. */
export type RedisClient = IoredisLike | NodeRedisLike

/** The methods that the store needs from a client. */
export interface Connection {
  /** True for Redis Cluster, where all keys of one script call have to be in one slot. */
  readonly cluster: boolean
  /** The master of a slot, as far as the client knows. Empty without Redis Cluster. */
  nodeOf(slot: number): string
  /** False while a command would wait in the client for a connection. */
  ready(): boolean
  readonly evalSha: SendScript
  readonly eval: SendScript
  /** Calls the listener when a connection is lost: the client may then send again what it has already sent. */
  onLost(listener: Listener): void
  /** Why the client is not ready, or the last error since it was ready. */
  problem(): unknown
  /** Why the node of a slot in Redis Cluster is not connected; undefined if the node is connected, and without Redis Cluster. */
  nodeProblem(slot: number): unknown
  /** Makes the client give up its connection to the master of a slot and open another one, if it can. */
  reconnect(slot: number): void
  /**
   * Makes a client of one server reconnect, if that is due, because its server has become a replica. Behind a balancer or a host
   * name, the new connection leads to the master. A Cluster or a Sentinel client finds the master by itself.
   * @param after reconnects at most once in so many milliseconds, for all stores of the client
   */
  leaveReplica(after: number): void
  /** Warns if nobody listens to the client's errors. */
  checkListener(): void
  /** Undefined if the client cannot list keys. */
  readonly keyScan: KeyScan | undefined
}

const ownFix = 'Write redisStore({ client: new Redis() }), or redisStore({ client: await createClient().connect() }).'

/**
 * @param option the name of the client's option, and `fix` how to pass a client: for the error
 * @throws HeadgateError `HEADGATE_OPTION` if it is no client of these libraries, `HEADGATE_VERSION` for an old one
 */
export function connectionOf(client: unknown, option = 'redisStore: client', fix: string = ownFix): Connection {
  checkPromises(client, option)
  if (can(client, 'evalSha') && can(client, 'eval')) {
    const connection = nodeRedis(client as NodeRedisLike)
    return isSentinel(client as object) ? nodeRedisSentinel(client as NodeRedisSentinel, connection) : connection
  }
  if (can(client, 'evalsha') && can(client, 'eval') && can(client, 'on')) return ioredis(client as IoredisLike)
  throw invalidOption(option, 'a client of ioredis, redis (node-redis) or iovalkey', client, fix)
}

/** @throws HeadgateError for node-redis 3, and for node-redis 4 in legacy mode: their methods take callbacks */
function checkPromises(client: unknown, option: string): void {
  if (can(client, 'internal_send_command')) throw tooOld('redisStore', 'redis', '4')
  if ((client as { options?: { legacyMode?: unknown } } | null | undefined)?.options?.legacyMode !== true) return
  throw invalidOption(option, 'a client that returns promises', client, 'Make it without legacyMode.')
}

function can(client: unknown, method: string): boolean {
  return typeof client === 'object' && client !== null && typeof Reflect.get(client, method) === 'function'
}

interface NodeRedisCluster extends NodeRedisLike {
  readonly slots?: readonly (
    | { readonly master?: { readonly address?: string; readonly client?: NodeRedisLike } }
    | undefined
  )[]
}

interface NodeRedisClient {
  destroy(): void
  connect(): Promise<unknown>
}

/** Only for a single client, or a client of one node. A pool goes on with its other clients. */
function reconnectNodeRedis(client: NodeRedisLike): void {
  const single = 'socketEpoch' in client && can(client, 'destroy') && can(client, 'connect')
  if (!single || client.isReady !== true) return
  const own = client as unknown as NodeRedisClient
  own.destroy()
  own.connect().catch(() => undefined) // the client emits the failure as the event 'error'
}

/** When each client was last told to leave a replica, in microseconds. */
const left = new WeakMap<object, number>()

function isDue(client: object, after: number): boolean {
  const now = monotonicClock()
  if (now - (left.get(client) ?? -Infinity) < after * 1000) return false
  left.set(client, now)
  return true
}

const nodeGone = new Error('the client has no connection to it')

const notConnected = 'The client is not connected. Write await client.connect() before the first call.'

function nodeRedis(client: NodeRedisLike): Connection {
  const errors = errorsOf(client, false, 'A connection that breaks then ends this process.')
  return {
    problem: () => errors?.last ?? (client.isOpen === false ? new Error(notConnected) : undefined),
    nodeProblem: (slot) => {
      const node = (client as NodeRedisCluster).slots?.[slot]?.master?.client
      return node?.isReady === false ? (errors?.last ?? nodeGone) : undefined
    },
    checkListener: () => errors?.checkListener(),
    reconnect: (slot) => reconnectNodeRedis((client as NodeRedisCluster).slots?.[slot]?.master?.client ?? client),
    leaveReplica: (after) => {
      if (after !== Infinity && isDue(client, after)) reconnectNodeRedis(client)
    },
    cluster: can(client, 'getSlotRandomNode'),
    nodeOf: (slot) => (client as NodeRedisCluster).slots?.[slot]?.master?.address ?? '',
    ready:
      isPool(client) && errors !== undefined
        ? poolReady(client, errors)
        : () => client.isReady ?? client.isOpen ?? true,
    evalSha: withBytes((sha, keys, args) => client.evalSha(sha, { keys, arguments: args })),
    eval: withBytes((script, keys, args) => client.eval(script, { keys, arguments: args })),
    onLost: () => {}, // node-redis never sends a command twice
    keyScan: can(client, 'scan') || can(client, 'nodeClient') ? nodeRedisScan(client) : undefined,
  }
}

function nodeRedisSentinel(client: NodeRedisSentinel, connection: Connection): Connection {
  const master = new SentinelMaster(client)
  return {
    ...connection,
    problem: () => connection.problem() ?? master.problem,
    ready: master.ready,
    reconnect: master.reconnect,
    leaveReplica: () => {},
    evalSha: withBytes((sha, keys, args) => master.run('evalSha', sha, keys, args)),
    eval: withBytes((script, keys, args) => master.run('eval', script, keys, args)),
  }
}

/** The states of ioredis in which it queues commands. Not `wait`: in that state the first command opens the connection. */
const queueing = new Set(['connecting', 'connect', 'reconnecting', 'close'])

interface IoredisNode extends IoredisLike {
  readonly stream?: { destroy?(): void }
  readonly options?: { readonly host?: string; readonly port?: number; readonly sentinels?: unknown }
}

interface IoredisCluster extends IoredisLike {
  readonly slots?: readonly (readonly string[] | undefined)[]
  nodes(): IoredisNode[]
}

/** The client of the node that has the slot. A Cluster names nodes by host and port. */
function nodeClient(client: IoredisLike, slot: number): IoredisNode | undefined {
  if (client.isCluster !== true) return client
  const { slots, nodes } = client as IoredisCluster
  const name = slots?.[slot]?.[0]
  return nodes.call(client).find(({ options }) => `${options?.host}:${options?.port}` === name)
}

function ioredis(client: IoredisLike): Connection {
  const errors = errorsOf(client, true, 'Nobody then sees why a connection breaks.')
  return {
    problem: () => errors?.last,
    nodeProblem: (slot) => {
      const connected = client.isCluster !== true || nodeClient(client, slot)?.status === 'ready'
      return connected ? undefined : (errors?.last ?? nodeGone)
    },
    checkListener: () => errors?.checkListener(),
    // Destroys the socket: a socket whose other end is gone never ends by itself.
    reconnect: (slot) => nodeClient(client, slot)?.stream?.destroy?.(),
    leaveReplica: (after) => {
      const single = client.isCluster !== true && !(client as IoredisNode).options?.sentinels
      if (single && after !== Infinity && isDue(client, after)) (client as IoredisNode).stream?.destroy?.()
    },
    cluster: client.isCluster === true,
    nodeOf: (slot) => (client as IoredisCluster).slots?.[slot]?.[0] ?? '',
    ready: () => !queueing.has(client.status ?? 'ready'),
    evalSha: sendByIoredis(client, 'evalsha'),
    eval: sendByIoredis(client, 'eval'),
    keyScan: can(client, 'scan') ? ioredisScan(client) : undefined,
    onLost(listener) {
      const known = listeners.get(client)
      if (known !== undefined) known.add(listener)
      else listen(client, new Set([listener]))
    },
  }
}

/** The listeners for each client: only one is added to the client itself, however many stores use it. */
const listeners = new WeakMap<IoredisLike, Set<Listener>>()

function listen(client: IoredisLike, all: Set<Listener>): void {
  listeners.set(client, all)
  const lost = () => {
    for (const listener of all) listener()
  }
  client.on('close', lost)
  if (client.isCluster !== true) return
  for (const node of (client as IoredisCluster).nodes()) node.on('close', lost)
  const joined = (node: IoredisLike) => node.on('close', lost)
  client.on('+node', joined as () => void)
}
