import { HeadgateError, shown } from '../../errors.ts'
import { DeadlineItem } from '../deadlines.ts'
import type { PackedPlan } from './packed-plan.ts'
import { redisError } from './redis-error.ts'
import { ReplyReader } from './reply-reader.ts'
import {
  isRepeatable,
  largestSizeOf,
  type ScriptRequest,
  verbAndFlags,
  writeExtras,
  writeHead,
} from './script-request.ts'

/** The size of the header: a byte that is 0 if the batch was withdrawn, and the TTL margin. */
const headBytes = 9

const noBytes = Buffer.alloc(0)

/** The sender of a batch. */
interface Sender {
  /** The TTL margin is in milliseconds. */
  readonly options: { readonly ttlMargin: number; readonly script: string }
  /** Why the client has no connection; undefined if it has one. */
  problem(): unknown
  /** Called once, when the batch is settled. */
  settled(batch: Batch, size: number): void
  /** Called when a batch that was sent got no answer in time. */
  unanswered(batch: Batch): void
  /** True if a batch that was not sent in time waits on. */
  postpone(batch: Batch): boolean
}

/** The requests of one script call in their order, with each of their keys and plans once. */
export class Batch extends DeadlineItem {
  keys: string[] = []
  #requests: ScriptRequest[] = []
  #keyIndexes = new Map<string, number>()
  #plans: PackedPlan[] = []
  #bytes: Buffer
  #end = headBytes
  /** The last request that was written, if it can be repeated; its repetitions, and the step between their keys. */
  #last: ScriptRequest | undefined
  #lastVerb = 0
  #lastKey = 0
  #repeats = 0
  #stride = 0
  /** True once every request has its response or an error. */
  settled = false
  override sent = false
  /** How many batches had been answered when this one began to wait, or was postponed. */
  answersBefore = 0
  /** How often it was postponed. */
  turns = 0
  /** The slot of its keys in Redis Cluster, else 0. */
  readonly slot: number
  readonly #sender: Sender

  constructor(sender: Sender, slot: number) {
    super()
    this.slot = slot
    this.#sender = sender
    this.#bytes = Buffer.allocUnsafe(1024)
    this.#bytes.writeUInt8(1, 0)
    this.#bytes.writeDoubleLE(sender.options.ttlMargin, 1)
  }

  get size(): number {
    return this.#requests.length
  }

  add(request: ScriptRequest): void {
    this.#requests.push(request)
    const verb = verbAndFlags(request)
    const key = this.#keyIndex(request.keys[0] as string)
    if (!this.#countAsRepeat(request, verb, key)) this.#write(request, verb, key)
    this.#last = isRepeatable(request, verb) ? request : undefined
    this.#lastVerb = verb
    this.#lastKey = key
  }

  /** A request that equals the last one, with the same key or the next, is only counted. */
  #countAsRepeat({ plan, now, costs }: ScriptRequest, verb: number, key: number): boolean {
    const last = this.#last
    if (last?.plan !== plan || verb !== this.#lastVerb || now !== last.now || costs !== last.costs) return false
    const stride = key - this.#lastKey
    if (this.#repeats === 0 ? stride !== 0 && stride !== 1 : stride !== this.#stride) return false
    this.#stride = stride
    this.#bytes.writeUInt16LE(++this.#repeats, this.#end - 3)
    this.#bytes.writeUInt8(stride, this.#end - 1)
    return true
  }

  #write(request: ScriptRequest, verb: number, key: number): void {
    const size = largestSizeOf(request)
    if (this.#end + size > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes], 2 * (this.#bytes.length + size))
    }
    const { keys, plan } = request
    const bytes = this.#bytes
    let at = writeHead(bytes, this.#end, request, verb, this.#planIndex(plan))
    at = bytes.writeUInt16LE(key, at)
    at = bytes.writeUInt16LE(0, at)
    at = bytes.writeUInt8(0, at)
    for (let n = 1; n < keys.length; n++) at = bytes.writeUInt16LE(this.#keyIndex(keys[n] as string), at)
    this.#end = writeExtras(bytes, at, request)
    this.#repeats = 0
  }

  #keyIndex(key: string): number {
    let index = this.#keyIndexes.get(key)
    if (index === undefined) {
      index = this.keys.push(key)
      this.#keyIndexes.set(key, index)
    }
    return index
  }

  #planIndex(plan: PackedPlan): number {
    const index = this.#plans.indexOf(plan)
    return index < 0 ? this.#plans.push(plan) : index + 1
  }

  /** The two arguments of the script: the plans and the requests. */
  args(): Buffer[] {
    const only = this.#plans.length === 1 ? (this.#plans[0] as PackedPlan).bytes : undefined
    return [only ?? Buffer.concat(this.#plans.map(({ bytes }) => bytes)), this.#bytes.subarray(0, this.#end)]
  }

  /**
   * Takes the requests back from a client that has not sent them yet, or that sends them again. Clients keep the very
   * bytes that they were given, and the script does nothing if the first byte is 0. (ioredis sends commands again whose
   * connection broke before the reply, although Redis may have run them.)
   */
  withdraw(): void {
    if (!this.settled) this.#bytes.writeUInt8(0, 0)
  }

  receive(reply: unknown): void {
    if (this.settled) return
    if (!Array.isArray(reply)) {
      this.fail(new TypeError('the reply is not a list'))
      return
    }
    const reader = new ReplyReader(reply)
    for (const request of this.#settle()) {
      const response = reader.read(request)
      try {
        if (response === undefined) request.reject(brokenRecord(request))
        else request.receive(response)
      } catch (error) {
        request.reject(error) // the user's own clock may throw
      }
    }
  }

  /** Drops every reference: the client may keep this batch for longer, and must not keep finished requests alive. */
  #settle(): readonly ScriptRequest[] {
    const requests = this.#requests
    this.settled = true
    this.#requests = []
    this.#last = undefined
    this.#keyIndexes = new Map()
    this.keys = []
    this.#bytes = noBytes
    this.#sender.settled(this, requests.length)
    return requests
  }

  /** Called at the deadline, whatever the client does. */
  expire(error: HeadgateError): void {
    if (!this.sent && this.#sender.postpone(this)) return
    this.withdraw()
    if (this.sent) this.#sender.unanswered(this)
    this.fail(this.sent ? error : unsent(error, this.#sender.problem()))
  }

  fail(cause: unknown): void {
    if (this.settled) return
    const error = redisError(cause, this.#sender.options.script)
    for (const request of this.#settle()) request.reject(error)
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
  const reason = cause instanceof Error ? cause.message || String(Reflect.get(cause, 'code')) : String(cause)
  return new HeadgateError(
    error.code,
    `Redis is not connected, so the call was not sent and did not count: ${reason}`,
    {
      cause,
      uncounted: true,
    },
  )
}
