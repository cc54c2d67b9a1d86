import { printable } from '../report/columns.mjs'
import { inspectionReport, keyTable } from '../report/store.mjs'
import { tableText, textOf } from '../report/text.mjs'
import { banKey } from './ban-key.mjs'
import { nameOf, rowOf } from './rank.mjs'

const help = 'q quit  ↑↓ choose  enter explain  b ban  u unban  s sort  r refused only  / find'

/** What an operator sees of the rows of a frame, and does with the chosen key. */
export class KeyView {
  order
  /** Called when something has changed that should be shown. */
  onChange = () => {}
  /** Resolves when no change of a key is under way. */
  done = Promise.resolve()
  #store
  #orders
  #chosen = 0
  #rows = []
  #refusedOnly = false
  /** A part of the names of the keys that are sought. */
  text = ''
  #explained
  #message = ''
  /** The question that is being answered: its words, the answer so far, and what to do with it. */
  #question

  constructor(store, { order, refused }, orders) {
    this.#store = store
    this.order = order
    this.#orders = orders
    this.#refusedOnly = refused
  }

  /** @returns {'quit' | 'look' | undefined} `look` if other keys are sought from now on */
  press(key) {
    if (key === 'interrupt') return 'quit'
    if (this.#question !== undefined) return this.#answer(key)
    this.#message = ''
    if (this.#explained !== undefined) {
      this.#explained = undefined
      return undefined
    }
    return this.#act(key)
  }

  /** @returns {'quit' | 'look' | undefined} */
  #act(key) {
    const row = this.#rows[this.#chosen]
    if (key === 'q' || key === 'Q') return 'quit'
    if (key === 'up') this.#chosen = Math.max(0, this.#chosen - 1)
    if (key === 'down') this.#chosen = Math.min(this.#rows.length - 1, this.#chosen + 1)
    if (key === 's') this.order = this.#orders[(this.#orders.indexOf(this.order) + 1) % this.#orders.length]
    if (key === 'r') this.#refusedOnly = !this.#refusedOnly
    if (key === '/') this.#ask('Find keys with', this.text, (text) => this.#find(text))
    if (row === undefined) return undefined
    if (key === 'enter' || key === 'i') this.#explained = row
    if (key === 'b')
      this.#ask(`Ban ${nameOf(row)} for`, '1h', (text) =>
        this.#change(() => banKey(this.#store, row, text), 'Banned', row),
      )
    if (key === 'u')
      this.#ask(`Unban ${nameOf(row)}? y or n`, 'y', (text) => {
        if (text === 'y') this.#change(() => this.#store.inspector.unban(row.storeKey), 'Unbanned', row)
      })
    return undefined
  }

  /** @returns {'look'} */
  #find(text) {
    this.text = text
    this.#chosen = 0
    return 'look'
  }

  #ask(words, answer, then) {
    this.#question = { words, answer, then }
  }

  #answer(key) {
    const { answer, then } = this.#question
    if (key === 'enter') {
      this.#question = undefined
      return then(answer)
    }
    if (key === 'escape') this.#question = undefined
    else if (key === 'backspace') this.#question.answer = answer.slice(0, -1)
    else if (key.length === 1 || key.codePointAt(0) > 0xffff) this.#question.answer = answer + key
    return undefined
  }

  /** Changes a key, and then shows the key as it is in the store now: the next look at all keys may be far away. */
  #change(act, done, row) {
    const say = (message) => {
      this.#message = message
      this.onChange()
    }
    this.done = Promise.resolve()
      .then(act)
      .then(() => this.#read(row))
      .then(
        () => say(`${done} ${nameOf(row)}.`),
        (error) => say(error.message),
      )
  }

  async #read(row) {
    const stored = await this.#store.inspector.read(row.storeKey)
    if (stored !== undefined) return Object.assign(row, rowOf(stored))
    // The key has its full quota, so the store has nothing of the key.
    const full = {
      refused: false,
      retryAfter: 0,
      ban: undefined,
      policies: [],
      words: 'Admitted, with the full quota.',
    }
    return Object.assign(row, rowOf({ ...row, inspection: { ...row.inspection, ...full } }))
  }

  /** The lines below the head, and which of them is chosen. */
  linesOf(look, columns, height) {
    this.#rows = look.rows(this.order, this.#refusedOnly)
    this.#chosen = Math.max(0, Math.min(this.#chosen, this.#rows.length - 1))
    const state = `by ${this.order}${this.#refusedOnly ? ', refused only' : ''}${this.text === '' ? '' : `, with ${printable(this.text)}`}`
    const foot = ['', printable(this.#footer())]
    if (this.#explained !== undefined) {
      const { sections } = inspectionReport('', [this.#explained])
      return {
        lines: ['', ...textOf({ title: state, facts: [], sections }).split('\n').slice(2), ...foot],
        marked: undefined,
      }
    }
    if (this.#rows.length === 0) return { lines: [state, '  No keys.', ...foot], marked: undefined }
    const first = Math.max(0, this.#chosen - height + 4)
    const shown = this.#rows.slice(first, first + height - 3)
    const [head, ...body] = tableText(keyTable(shown), columns).split('\n')
    return { lines: [state, head, ...body, ...foot], marked: 2 + this.#chosen - first }
  }

  #footer() {
    if (this.#question !== undefined) return `${this.#question.words}: ${this.#question.answer}█  (enter, or escape)`
    return this.#message || (this.#explained === undefined ? help : 'any key goes back')
  }
}
