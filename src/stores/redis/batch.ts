import { HeadgateError, shown } from '../../errors.ts'
import { DeadlineItem } from '../deadlines.ts'
import type { Connection } from './client.ts'
import type { Message } from './message.ts'
import { redisError } from './redis-error.ts'
import type { RedisNode } from './redis-node.ts'
import { ReplyReader } from './reply-reader.ts'
import { isMissing, type Script } from './script.ts'
import type { ScriptCall } from './script-call.ts'
import type { ScriptRequest } from './script-request.ts'

/** The sender of a batch. */
interface Sender {
  /** The whole script. */
  readonly options: { readonly script: Script }
  /** Why the client has no connection; undefined if it has one. */
  problem(): unknown
  /** Why the client has no connection to the node of a slot; undefined if it has one. */
  nodeProblem(slot: number): unknown
  /** Called once, when the batch is settled. */
  settled(batch: Batch, size: number, error?: unknown): void
  /** Called when a batch that was sent got no answer in time. */
  unanswered(batch: Batch): void
  /** True if a batch that was not sent in time waits on. */
  postpone(batch: Batch): boolean
}

/** What is done with the reply of a script call, or its error. Neither throws. */
interface Outcome {
  answered(reply: unknown): void
  failed(error: unknown): void
}

/** The requests of one script call, with their deadline. */
export class Batch extends DeadlineItem {
  /** True once every request has its response or an error. */
  settled = false
  override sent = false
  /** How many batches had been answered when this one began to wait, or was postponed. */
  answersBefore = 0
  /** When it was sent, in microseconds; 0 if nobody asks. */
  sentAt = 0
  /** How often it was postponed. */
  turns = 0
  /** The slot of its keys in Redis Cluster, else 0. */
  readonly slot: number
  /** Undefined once it is settled: the client may keep this batch for longer, and must not keep finished requests alive. */
  #message: Message | undefined
  /** Undefined as long as it is not sent. */
  #call: ScriptCall | undefined
  #withdrawn = false
  readonly #sender: Sender

  constructor(sender: Sender, message: Message, slot: number) {
    super()
    this.slot = slot
    this.#sender = sender
    this.#message = message
  }

  get size(): number {
    return this.#message?.size ?? 0
  }

  get message(): Message {
    return this.#message as Message
  }

  /** Runs the script. It is sent again only if the node does not have it, and then it certainly did not run. */
  evaluate(connection: Connection, { sha, text }: Script, node: RedisNode, { answered, failed }: Outcome): void {
    const { keys } = this.message
    const args = this.message.args()
    const missing = (error: unknown) => {
      if (!isMissing(error)) return failed(error)
      node.lostScripts()
      // If the connection broke meanwhile, the call may have run before.
      if (this.#withdrawn) return failed(error)
      this.#ask(() => connection.eval(text, keys, args), answered, failed)
    }
    this.#ask(() => connection.evalSha(sha, keys, args), answered, missing)
  }

  #ask(send: () => ScriptCall, answered: Outcome['answered'], failed: Outcome['failed']): void {
    try {
      this.#call = send()
      this.#call.reply.then(answered, failed)
    } catch (error) {
      failed(error)
    }
  }

  withdraw(): void {
    this.#withdrawn = true
    this.#call?.withdraw()
  }

  receive(reply: unknown): void {
    if (this.settled) return
    if (!Array.isArray(reply)) {
      this.fail(new TypeError('the reply is not a list'))
      return
    }
    const reader = new ReplyReader(reply)
    for (const request of this.#settle()) {
      try {
        const response = reader.read(request)
        if (response === undefined) request.reject(brokenRecord(request))
        else request.receive(response)
      } catch (error) {
        request.reject(error) // the user's own clock may throw
      }
    }
  }

  #settle(error?: unknown): readonly ScriptRequest[] {
    const { requests, size } = this.message
    this.settled = true
    this.#message = undefined
    this.#sender.settled(this, size, error)
    return requests
  }

  /** Called at the deadline, whatever the client does. */
  expire(error: HeadgateError): void {
    if (!this.sent && this.#sender.postpone(this)) return
    this.withdraw()
    if (this.sent) this.#sender.unanswered(this)
    const { problem, nodeProblem } = this.#sender
    this.fail(this.sent ? unanswered(error, nodeProblem(this.slot)) : unsent(error, problem()))
  }

  fail(cause: unknown): void {
    if (this.settled) return
    const { script = this.#sender.options.script } = this.message
    const error = redisError(cause, script.text)
    for (const request of this.#settle(error)) request.reject(error)
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

/** The error of a batch that waited for a connection until its deadline. */
function unsent(error: HeadgateError, cause: unknown): HeadgateError {
  if (cause === undefined) return error
  const message = `Redis is not connected, so the call was not sent and did not count: ${reasonOf(cause)}`
  return new HeadgateError(error.code, message, { cause, uncounted: true })
}

/** The error of a batch that the client may hold for a node without a connection. */
function unanswered(error: HeadgateError, cause: unknown): HeadgateError {
  if (cause === undefined) return error
  return new HeadgateError(error.code, `${error.message} The node is not connected: ${reasonOf(cause)}`, { cause })
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message || String(Reflect.get(cause, 'code')) : String(cause)
}
