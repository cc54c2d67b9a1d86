import { setTimeout as sleep } from 'node:timers/promises'
import { HeadgateError, shown } from '../../../common/index.ts'
import { DeadlineItem } from '../../contract/index.ts'
import { type Connection, isTryAgain, redisError, type ScriptCall } from '../client/index.ts'
import { isMissing } from '../script/index.ts'
import type { Message, WaitingRequest } from './message.ts'
import type { RedisNode } from './node-notes.ts'
import { ReplyReader } from './reply-reader.ts'
import type { ScriptRequest } from './script-request.ts'

/** What a batch needs from the object that sends it. */
interface Sender {
  readonly connection: Connection
  /** Called once, when every call of the batch has its response or an error. */
  settled(batch: Batch, size: number, error?: unknown): void
  /** Called when a sent batch gets no answer of Redis within the timeout. */
  unanswered(batch: Batch): void
  /** Called when the timeout of a batch passes before the batch is sent. Returns true if the batch may wait longer. */
  postpone(batch: Batch): boolean
}

/** How long a batch waits before its second attempt, if its slot of Redis Cluster is being moved to another node, in milliseconds. */
const movingPause = 20

/** The requests that are decided by one script call, and their common deadline. */
export class Batch extends DeadlineItem {
  /** True once every call has its response or an error. */
  settled = false
  override sent = false
  /**
   * How many batches were already answered when this batch began to wait or was last postponed. If the number has grown since that time,
   * Redis still answers.
   */
  answersBefore = 0
  /** When the batch was sent, in microseconds; 0 if nobody listens to events about batches. */
  sentAt = 0
  /** How often the batch was postponed. */
  turns = 0
  /** The limiter and the Cluster slot of the requests, as a text. The batcher adds requests to at most one batch for each such text. */
  readonly name: string
  /** The slot of the batch's keys in Redis Cluster; 0 without a Cluster. */
  readonly slot: number
  /** If the batch fails, the errors of its calls name these nodes of Redis Cluster as failed. Undefined without Redis Cluster. */
  #shards: readonly string[] | undefined
  /**
   * The requests. The list is emptied when every call has ended, so that a client with a reference to the batch keeps no request in
   * memory.
   */
  calls: WaitingRequest[]
  /** The requests that have timed out, if one of them needs a late response. Otherwise empty. */
  #late: readonly WaitingRequest[] = []
  #script = ''
  /** The script call; undefined until the batch is sent. */
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
   * Runs the script. Runs the script a second time only if the first attempt certainly changed nothing: the node did not have the
   * script, or the slot of the keys is being moved.
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
        this.#shards = [] // the error is not a failure of the node
        await sleep(movingPause)
      } else if (isMissing(error)) node.lostScripts()
      else throw error
      // A withdrawn batch is not sent again: its first attempt may have run before the connection broke.
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
    if (this.settled) {
      this.#receiveLate(reply)
      return
    }
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
        reject(error) // because a clock that the user passed may throw
      }
    }
  }

  /** Reads a reply that comes after the requests have timed out. */
  #receiveLate(reply: unknown): void {
    if (!Array.isArray(reply) || this.#late.length === 0) return
    const reader = new ReplyReader(reply)
    for (const { request } of this.#late) {
      const response = reader.read(request)
      if (response !== undefined) request.late?.(response)
    }
    this.#late = []
  }

  #settle(error?: unknown): readonly WaitingRequest[] {
    const { calls } = this
    this.settled = true
    this.calls = []
    this.#sender.settled(this, calls.length, error)
    return calls
  }

  /** Called when the deadline passes. The requests fail, unless the batch was not sent yet and may wait longer. */
  expire(error: HeadgateError): void {
    if (!this.sent && this.#sender.postpone(this)) return
    this.withdraw()
    this.#sender.unanswered(this)
    this.fail(this.sent ? this.#unanswered(error) : this.#unsent(error))
  }

  /**
   * The error of a batch that was not sent before its deadline: there was no connection, or other batches had to be sent before
   * this batch.
   */
  #unsent({ code, message }: HeadgateError): HeadgateError {
    const { connection } = this.#sender
    const cause = connection.ready() ? undefined : connection.problem()
    if (cause === undefined) return new HeadgateError(code, message, { uncounted: true, shards: this.#shards })
    const text = `Redis is not connected, so the call was not sent and did not count: ${reasonOf(cause)}`
    return new HeadgateError(code, text, { cause, uncounted: true })
  }

  /** The error of a batch that got no answer in time. Perhaps the client has not sent the batch, because there is no connection. */
  #unanswered({ code, message }: HeadgateError): HeadgateError {
    const shards = this.#shards
    const cause = this.#sender.connection.nodeProblem(this.slot)
    if (cause === undefined) return new HeadgateError(code, message, { shards })
    return new HeadgateError(code, `${message} The node is not connected: ${reasonOf(cause)}`, { cause, shards })
  }

  fail(cause: unknown): void {
    if (this.settled) return
    const error = redisError(cause, this.#script, this.#shards)
    const calls = this.#settle(error)
    if (calls.some(({ request }) => request.late !== undefined)) this.#late = calls
    for (const { reject } of calls) reject(error)
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
