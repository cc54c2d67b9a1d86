import type { Batch } from './batch.ts'
import type { PackedPlan } from './packed-plan.ts'

/** The batches of one slot that still grow. Only the whole one takes any request, so it comes last. */
export class OpenBatches {
  readonly plain: Map<PackedPlan, Batch> = new Map()
  whole: Batch | undefined
  /** 0 without Redis Cluster. */
  readonly slot: number

  constructor(slot: number) {
    this.slot = slot
  }

  keep(plan: PackedPlan, batch: Batch): Batch {
    this.plain.set(plan, batch)
    return batch
  }

  all(): Batch[] {
    return this.whole === undefined ? [...this.plain.values()] : [...this.plain.values(), this.whole]
  }

  remove(batch: Batch): void {
    if (this.whole === batch) this.whole = undefined
    for (const [plan, open] of this.plain) if (open === batch) this.plain.delete(plan)
  }
}
