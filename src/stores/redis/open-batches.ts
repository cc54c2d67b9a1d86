import type { Batch } from './batch.ts'
import { slotOf } from './keys.ts'
import type { Message } from './message.ts'
import type { PackedPlan } from './packed-plan.ts'
import { PlainMessage } from './plain-message.ts'
import { isPlainRequest, type ScriptRequest } from './script-request.ts'
import { WholeMessage } from './whole-message.ts'

/** The batches of one slot that still grow. Only the whole one takes any request, so it comes last. */
interface SlotBatches {
  /** 0 without Redis Cluster. */
  readonly slot: number
  /** Each for one plan. The other plans of the same limiter share its states, so they go with the whole one. */
  plain: PlainBatch[]
  whole: Batch | undefined
}

interface PlainBatch {
  readonly plan: PackedPlan
  readonly limiter: string
  readonly batch: Batch
}

interface Opener {
  readonly cluster: boolean
  /** In milliseconds. */
  readonly ttlMargin: number
  begin(message: Message, slot: number): Batch
  /** Takes batches that no longer grow. */
  close(batch: Batch): void
}

/** The batches that still grow, by the slot of their keys, and within it by their plan. */
export class OpenBatches {
  /** Only Redis Cluster has more than one. */
  #slots: SlotBatches[] = []
  #bySlot = new Map<number, SlotBatches>()
  #count = 0
  readonly #opener: Opener

  constructor(opener: Opener) {
    this.#opener = opener
  }

  get none(): boolean {
    return this.#count === 0
  }

  /** The batch that has taken this request. */
  add(request: ScriptRequest): Batch {
    const { ttlMargin } = this.#opener
    const open = this.#slotOf(request)
    const { plan } = request
    const script = open.whole === undefined && isPlainRequest(request) ? plan.plain : undefined
    if (script !== undefined) {
      const { limiter } = script
      const found = open.plain.find((other) => other.limiter === limiter)
      if (found?.plan === plan && found.batch.message.add(request)) return found.batch
      if (found === undefined) {
        const batch = this.#begin(new PlainMessage(request, script), open.slot)
        open.plain.push({ plan, limiter, batch })
        return batch
      }
    }
    // Requests of one turn keep their order: those before this one are sent first.
    for (const { batch } of open.plain) this.#close(batch)
    open.plain = []
    open.whole ??= this.#begin(new WholeMessage(ttlMargin), open.slot)
    open.whole.message.add(request)
    return open.whole
  }

  #begin(message: Message, slot: number): Batch {
    this.#count++
    return this.#opener.begin(message, slot)
  }

  #close(batch: Batch): void {
    this.#count--
    this.#opener.close(batch)
  }

  #slotOf({ keys }: ScriptRequest): SlotBatches {
    const slot = this.#opener.cluster ? slotOf(keys[0] as string) : 0
    let open = this.#find(slot)
    if (open === undefined) {
      open = { slot, plain: [], whole: undefined }
      this.#slots.push(open)
      if (this.#opener.cluster) this.#bySlot.set(slot, open)
    }
    return open
  }

  #find(slot: number): SlotBatches | undefined {
    return this.#opener.cluster ? this.#bySlot.get(slot) : this.#slots[0]
  }

  /** Lets a batch grow no more. */
  remove(batch: Batch): void {
    const open = this.#find(batch.slot)
    const at = open?.plain.findIndex((plain) => plain.batch === batch) ?? -1
    if (at >= 0) open?.plain.splice(at, 1)
    else if (open?.whole === batch) open.whole = undefined
    else return
    this.#count--
  }

  closeAll(): void {
    const slots = this.#slots
    this.#slots = []
    // A new Map: one that is cleared or grows replaces its table, and the old table, once in V8's old generation, would
    // keep the new one and all it refers to alive until the next full collection.
    if (this.#opener.cluster) this.#bySlot = new Map()
    for (const { plain, whole } of slots) {
      for (const { batch } of plain) this.#close(batch)
      if (whole !== undefined) this.#close(whole)
    }
  }
}
