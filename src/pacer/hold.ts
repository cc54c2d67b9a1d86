import { type Agenda, Entry } from './agenda.ts'

/** A time during which nobody of a lane is let through. */
export class Hold {
  /** Its end, in microseconds; of the last one if there is none now. */
  until = 0
  readonly #agenda: Agenda
  readonly #over: () => void
  #end: End | undefined

  /** @param over called when its time is over */
  constructor(agenda: Agenda, over: () => void) {
    this.#agenda = agenda
    this.#over = over
  }

  get on(): boolean {
    return this.#end !== undefined
  }

  begin(until: number): void {
    this.end()
    this.until = until
    this.#end = new End(() => {
      this.#end = undefined
      this.#over()
    })
    this.#agenda.add(this.#end, until)
  }

  end(): void {
    if (this.#end !== undefined) this.#agenda.remove(this.#end)
    this.#end = undefined
  }
}

/** Before the turns and deadlines of its time. */
class End extends Entry {
  readonly due: () => void

  override get rank(): number {
    return -1
  }

  constructor(due: () => void) {
    super()
    this.due = due
  }
}
