import { setTimeout as sleep } from 'node:timers/promises'
import { HeadgateError, shown } from '../../../common/index.ts'
import { DeadlineItem } from '../../contract/index.ts'
import { type Connection, isTryAgain, redisError, type ScriptCall } from '../client/index.ts'
import { isMissing } from '../script/index.ts'
import type { Message, WaitingRequest } from './message.ts'
import type { RedisNode } from './node-notes.ts'
import { ReplyReader } from './reply-reader.ts'
import type { ScriptRequest } from './script-request.ts'

/** The sender of a batch. */
interface Sender {
  readonly connection: Connection
  /** Called once, when the batch is settled. */
  settled(batch: Batch, size: number, error?: unknown): void
  /** Called when a batch that was sent got no answer in time. */
  unanswered(batch: Batch): void
  /** True if a batch that was not sent in time may wait longer. */
  postpone(batch: Batch): boolean
}

/** How long a call waits until it is tried once more, if its keys are on their way to another node, in milliseconds. */
const movingPause = 20

/** The requests that one script call serves, with their deadline. */
export class Batch extends DeadlineItem {
  /** True once every call has its response or an error. */
  settled = false
  override sent = false
  /** How many batches had been answered when this batch began to wait, or was postponed. */
  answersBefore = 0
  /** When the batch was sent, in microseconds; 0 if nobody observes exchanges. */
  sentAt = 0
  /** How often the batch was postponed. */
  turns = 0
  /** The name of its limiter and slot: the batcher has one open batch for each. */
  readonly name: string
  /** The slot of its keys in Redis Cluster, else 0. */
  readonly slot: number
  /** The nodes of Redis Cluster whose failure an error of the batch is: the one that decides. Undefined without Redis Cluster. */
  #shards: readonly string[] | undefined
  /** Empty once the batch is settled: a client that keeps the batch must not keep finished calls alive. */
  calls: WaitingRequest[]
  #script = ''
  /** The script call; undefined until it is sent. */
  #sent: ScriptCall | undefined
  #withdrawn = false
  readonly #sender: Sender

  constructor(sender: Sender, name: string, slot: number, calls: WaitingRequest[]) {
    super()
    this.#sender = sender
    this.name = name
    this.slot = slot
    this.#shards = sender.connection.cluster ? [sender.connection.nodeOf(slot)] : undefined
    this.calls = calls
  }

  /**
   * Runs the script. Sends it again, once, only if the node does not have the script, or not all keys of a slot that is being
   * moved: then it certainly did not run.
   */
  async evaluate({ script, keys, args, calls }: Message, node: RedisNode): Promise<unknown> {
    const { connection } = this.#sender
    this.calls = calls
    this.#script = script.text
    try {
      this.#sent = connection.evalSha(script.sha, keys, args)
      return await this.#sent.reply
    } catch (error) {
      if (isTryAgain(error)) {
        this.#shards = [] // the node works
        await sleep(movingPause)
      } else if (isMissing(error)) node.lostScripts()
      else throw error
      // If the connection broke meanwhile, the call may have run already.
      if (this.#withdrawn) throw error
      this.#sent = connection.eval(script.text, keys, args)
      return await this.#sent.reply
    }
  }

  withdraw(): void {
    this.#withdrawn = true
    this.#sent?.withdraw()
  }

  receive(reply: unknown): void {
    if (this.settled) return
    if (!Array.isArray(reply)) {
      this.fail(new TypeError('the reply is not a list'))
      return
    }
    const reader = new ReplyReader(reply)
    for (const { request, receive, reject } of this.#settle()) {
      try {
        const response = reader.read(request)
        if (response === undefined) reject(brokenRecord(request))
        else receive(response)
      } catch (error) {
        reject(error) // the user's own clock may throw
      }
    }
  }

  #settle(error?: unknown): readonly WaitingRequest[] {
    const { calls } = this
    this.settled = true
    this.calls = []
    this.#sender.settled(this, calls.length, error)
    return calls
  }

  /** Called at the deadline, whatever the client does. */
  expire(error: HeadgateError): void {
    if (!this.sent && this.#sender.postpone(this)) return
    this.withdraw()
    if (this.sent) this.#sender.unanswered(this)
    this.fail(this.sent ? this.#unanswered(error) : this.#unsent(error))
  }

  /** The error of a batch that waited for a connection, or behind other batches, until its deadline. */
  #unsent({ code, message }: HeadgateError): HeadgateError {
    const { connection } = this.#sender
    const cause = connection.ready() ? undefined : connection.problem()
    if (cause === undefined) return new HeadgateError(code, message, { uncounted: true, shards: this.#shards })
    const text = `Redis is not connected, so the call was not sent and did not count: ${reasonOf(cause)}`
    return new HeadgateError(code, text, { cause, uncounted: true })
  }

  /** The error of a batch that got no answer in time. The client may hold it for a node without a connection. */
  #unanswered({ code, message }: HeadgateError): HeadgateError {
    const shards = this.#shards
    const cause = this.#sender.connection.nodeProblem(this.slot)
    if (cause === undefined) return new HeadgateError(code, message, { shards })
    return new HeadgateError(code, `${message} The node is not connected: ${reasonOf(cause)}`, { cause, shards })
  }

  fail(cause: unknown): void {
    if (this.settled) return
    const error = redisError(cause, this.#script, this.#shards)
    for (const { reject } of this.#settle(error)) reject(error)
  }
}

function brokenRecord({ keys }: ScriptRequest): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_RECORD',
    `The value under ${keys.map((key) => shown(key)).join(' or ')} in Redis is no record of this version. ` +
      'Choose another prefix, or delete it with reset(key).',
    { uncounted: true },
  )
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message || String(Reflect.get(cause, 'code')) : String(cause)
}
