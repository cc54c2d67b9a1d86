/* The client libraries that redisStore supports. A client is recognised by its methods. No client library is imported. */
import { invalidOption, monotonicClock, tooOld } from '../../../common/index.ts'
import { errorsOf } from './client-errors.ts'
import { sendByIoredis } from './ioredis-command.ts'
import { ioredisScan, type KeyScan, nodeRedisScan } from './key-scan.ts'
import { isPool, poolReady } from './node-redis-pool.ts'
import { isSentinel, type NodeRedisSentinel, SentinelMaster } from './node-redis-sentinel.ts'
import { type SendScript, withBytes } from './script-call.ts'
import { type AddressedClient, beganSilent, serverAnswers } from './server-answers.ts'

type Listener = () => void

/** A client of ioredis or iovalkey: `Redis` (with or without sentinels) or `Cluster`. */
export interface IoredisLike {
  readonly status?: string
  readonly isCluster?: boolean
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: (string | number | Uint8Array)[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | number | Uint8Array)[]): Promise<unknown>
  on(event: string, listener: () => void): unknown
}

/** The keys and arguments of a script call. headgate always passes keys as texts, and arguments as bytes. */
interface NodeRedisEvalOptions {
  keys?: (string | Uint8Array)[]
  arguments?: (string | Uint8Array)[]
}

/** A client, cluster, pool or sentinel of node-redis (the package `redis`). */
export interface NodeRedisLike {
  readonly isReady?: boolean
  readonly isOpen?: boolean
  evalSha(sha: string, options?: NodeRedisEvalOptions): Promise<unknown>
  eval(script: string, options?: NodeRedisEvalOptions): Promise<unknown>
}

/** A client of Redis, for `redisStore` and `inspectRedis`. */
export type RedisClient = IoredisLike | NodeRedisLike

/** The methods that the Redis store needs, the same for every client library. */
export interface Connection {
  /** True for Redis Cluster, where all keys of one script call have to be in one slot. */
  readonly cluster: boolean
  /** The address of the master of a slot, as far as the client knows it. Empty without Redis Cluster. */
  nodeOf(slot: number): string
  /** True if the client would send a command now. False while a command would wait in the client for a connection. */
  ready(): boolean
  /** True if the client opens its connection at its first command, and has got no command yet. */
  idle(): boolean
  readonly evalSha: SendScript
  readonly eval: SendScript
  /** Calls `listener` when a connection is lost, because the client may then send commands a second time. */
  onLost(listener: Listener): void
  /** The reason why the client is not ready, such as the last error of its connection; undefined if no reason is known. */
  problem(): unknown
  /** The reason why the node of a slot is not connected; undefined if the node is connected, or without Redis Cluster. */
  nodeProblem(slot: number): unknown
  /** How many bytes of a node have come, if ioredis gives commands up and drops their answers (`commandTimeout`). Undefined otherwise. */
  received(slot: number): number | undefined
  /**
   * Makes the client close its connection to the master of a slot of the Cluster and open another one, if the client supports that. A
   * client of node-redis does so only if the server answers on a new connection.
   * @param isSilent returns false if the server has answered since the call of `reconnect`
   */
  reconnect(slot: number, isSilent: () => boolean): void
  /**
   * Makes a client of one server reconnect, because its server has become a replica. Behind a load balancer or a host name, the
   * new connection leads to the new master. Cluster and Sentinel clients find the new master without this function.
   * @param after the shortest time between two such reconnections of a client, in milliseconds, counted over all stores of the
   *   client
   */
  leaveReplica(after: number): void
  /** Warns if the application has no listener for errors of the client. */
  checkListener(): void
  /** Finds and deletes keys. Undefined if the client cannot list keys. */
  readonly keyScan: KeyScan | undefined
}

const ownFix = 'Write redisStore({ client: new Redis() }), or redisStore({ client: await createClient().connect() }).'

/**
 * Returns the same methods for a client of any supported library.
 * @param option for the error: the option that has the client as its value
 * @param fix for the error: how to pass a client
 * @throws HeadgateError `HEADGATE_OPTION` if `client` is no supported client
 * @throws HeadgateError `HEADGATE_VERSION` if its library is too old
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

/** Checks that the methods return promises. @throws HeadgateError for node-redis 3, and for node-redis 4 in legacy mode */
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

/** True for a client of one server, or of one node of a Cluster, that is connected. False for a pool. */
function isOpenSingle(client: NodeRedisLike): boolean {
  const isSingle = 'socketEpoch' in client && can(client, 'destroy') && can(client, 'connect')
  return isSingle && client.isReady === true && client.isOpen === true
}

/** Closes and opens the connection of a client of one server. Does nothing for other clients. */
function reconnectNodeRedis(client: NodeRedisLike): void {
  if (!isOpenSingle(client)) return
  const own = client as unknown as NodeRedisClient
  own.destroy()
  own.connect().catch(() => undefined) // an error is ignored here, because the client also emits it as an event
}

/** When each client last reconnected because its server was a replica, in microseconds. */
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
    received: () => undefined,
    async reconnect(slot, isSilent) {
      const single = (client as NodeRedisCluster).slots?.[slot]?.master?.client ?? client
      if (!isOpenSingle(single)) return
      if ((await serverAnswers(single as AddressedClient)) && isSilent()) reconnectNodeRedis(single)
    },
    leaveReplica: (after) => {
      if (after !== Infinity && isDue(client, after)) reconnectNodeRedis(client)
    },
    cluster: can(client, 'getSlotRandomNode'),
    idle: () => false,
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

/**
 * The values of an ioredis client's `status` with which commands wait in the client. (With `wait`, the first command opens the
 * connection.)
 */
const queueing = new Set(['connecting', 'connect', 'reconnecting', 'close'])

interface IoredisNode extends IoredisLike {
  readonly stream?: { readonly bytesRead?: number; destroy?(): void }
  readonly options?: { readonly host?: string; readonly port?: number; readonly sentinels?: unknown }
}

interface IoredisCluster extends IoredisLike {
  readonly slots?: readonly (readonly string[] | undefined)[]
  nodes(): IoredisNode[]
}

/** The client of the node that has the slot. A Cluster client identifies nodes by `host:port`. */
function nodeClient(client: IoredisLike, slot: number): IoredisNode | undefined {
  if (client.isCluster !== true) return client
  const { slots, nodes } = client as IoredisCluster
  const name = slots?.[slot]?.[0]
  return nodes.call(client).find(({ options }) => `${options?.host}:${options?.port}` === name)
}

/** True if a command that gets no answer in time is given up. */
function givesUp(client: IoredisLike): boolean {
  const { options } = client as { options?: { commandTimeout?: unknown; redisOptions?: { commandTimeout?: unknown } } }
  return (options?.commandTimeout ?? options?.redisOptions?.commandTimeout) !== undefined
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
    received: (slot) => (givesUp(client) ? nodeClient(client, slot)?.stream?.bytesRead : undefined),
    reconnect(slot) {
      const { status, stream } = nodeClient(client, slot) ?? {}
      // Destroys the socket, because a socket whose other end is gone may never close. With the status `connect`, the connection waits for
      // the answers to its first commands. A server that loads its data answers again and again.
      if (status === 'ready' || (status === 'connect' && stream && beganSilent(stream))) stream?.destroy?.()
    },
    leaveReplica: (after) => {
      const single = client.isCluster !== true && !(client as IoredisNode).options?.sentinels
      if (single && after !== Infinity && isDue(client, after)) (client as IoredisNode).stream?.destroy?.()
    },
    cluster: client.isCluster === true,
    nodeOf: (slot) => (client as IoredisCluster).slots?.[slot]?.[0] ?? '',
    ready: () => !queueing.has(client.status ?? 'ready'),
    idle: () => client.status === 'wait',
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

/** The listeners of all stores for each client. Only one listener is added to a client, and that listener calls all these listeners. */
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
