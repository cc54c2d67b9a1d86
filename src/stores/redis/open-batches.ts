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
  /** By the limiter: its other plans share the states, so they go with the whole one. */
  readonly plain: Map<string, { readonly plan: PackedPlan; readonly batch: Batch }>
  whole: Batch | undefined
}

interface Opener {
  readonly cluster: boolean
  /** In milliseconds. */
  readonly ttlMargin: number
  begin(message: Message, slot: number): Batch
  /** Takes batches that no longer grow. */
  close(batches: Iterable<Batch>): void
}

/** The batches that still grow, by the slot of their keys, and within it by their plan. */
export class OpenBatches {
  #slots = new Map<number, SlotBatches>()
  readonly #opener: Opener

  constructor(opener: Opener) {
    this.#opener = opener
  }

  get none(): boolean {
    return this.#slots.size === 0
  }

  /** The batch that has taken this request. */
  add(request: ScriptRequest): Batch {
    const { begin, close, ttlMargin } = this.#opener
    const open = this.#slotOf(request)
    const { plan } = request
    const script = open.whole === undefined && isPlainRequest(request) ? plan.plain : undefined
    if (script !== undefined) {
      const found = open.plain.get(script.limiter)
      if (found?.plan === plan && found.batch.message.add(request)) return found.batch
      if (found === undefined) {
        const batch = begin(new PlainMessage(request, script), open.slot)
        open.plain.set(script.limiter, { plan, batch })
        return batch
      }
    }
    // Requests of one turn keep their order: those before this one are sent first.
    close(plainOf(open))
    open.plain.clear()
    open.whole ??= begin(new WholeMessage(ttlMargin), open.slot)
    open.whole.message.add(request)
    return open.whole
  }

  #slotOf({ keys }: ScriptRequest): SlotBatches {
    const slot = this.#opener.cluster ? slotOf(keys[0] as string) : 0
    let open = this.#slots.get(slot)
    if (open === undefined) {
      open = { slot, plain: new Map(), whole: undefined }
      this.#slots.set(slot, open)
    }
    return open
  }

  /** Lets a batch grow no more. */
  remove(batch: Batch): void {
    const open = this.#slots.get(batch.slot)
    if (open === undefined) return
    if (open.whole === batch) open.whole = undefined
    for (const [limiter, plain] of open.plain) if (plain.batch === batch) open.plain.delete(limiter)
  }

  closeAll(): void {
    const slots = this.#slots
    // A new Map: one that is cleared or grows replaces its table, and the old table, once in V8's old generation, would
    // keep the new one and all it refers to alive until the next full collection.
    this.#slots = new Map()
    for (const open of slots.values()) {
      this.#opener.close(plainOf(open))
      if (open.whole !== undefined) this.#opener.close([open.whole])
    }
  }
}

function plainOf({ plain }: SlotBatches): Batch[] {
  return Array.from(plain.values(), ({ batch }) => batch)
}
