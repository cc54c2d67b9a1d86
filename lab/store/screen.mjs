/** ANSI codes: open a second screen without a cursor, close it, go to the upper left corner, clear to the end of a line and of the screen. */
const [enter, leave, home, clearLine, clearBelow] = [
  '\u001b[?1049h\u001b[?25l',
  '\u001b[?25h\u001b[?1049l',
  '\u001b[H',
  '\u001b[K',
  '\u001b[J',
]
const [inverse, plain] = ['\u001b[7m', '\u001b[27m']

/** The names of the keys that a terminal sends as several characters. In raw mode, Ctrl-C and Ctrl-D come as characters. */
const named = {
  '\u001b[A': 'up',
  '\u001b[B': 'down',
  '\u001bOA': 'up',
  '\u001bOB': 'down',
  '\r': 'enter',
  '\n': 'enter',
  '\u001b': 'escape',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'interrupt',
  '\u0004': 'interrupt',
}

/** A terminal that shows one frame in place of another, and sends the keys that are pressed. */
export class Screen {
  #keys
  #raw = process.stdin.isTTY === true

  /** @param {(key: string) => void} onKey called with a character, or with a name such as `up`, `enter`, `escape`, `interrupt` */
  constructor(onKey) {
    this.#keys = (pressed) => {
      for (const key of keysOf(String(pressed))) onKey(named[key] ?? key)
    }
    process.stdout.write(enter)
    if (this.#raw) process.stdin.setRawMode(true).resume().on('data', this.#keys)
  }

  /** The columns and rows. A terminal without a size says 0. */
  get size() {
    return { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }
  }

  /** Shows lines that fit. @param {string[]} lines @param {number} [marked] the line to mark */
  show(lines, marked) {
    const shown = lines.slice(0, this.size.rows - 1)
    const text = shown.map((line, n) => (n === marked ? `${inverse}${line}${plain}` : line) + clearLine)
    process.stdout.write(`${home}${text.join('\n')}\n${clearBelow}`)
  }

  close() {
    if (this.#raw) process.stdin.off('data', this.#keys).setRawMode(false).pause()
    process.stdout.write(leave)
  }
}

/** The keys of what a terminal has sent at once: an escape sequence of three characters is one key. */
function keysOf(text) {
  if (text === '') return []
  const length = Object.hasOwn(named, text.slice(0, 3)) ? 3 : String.fromCodePoint(text.codePointAt(0)).length
  return [text.slice(0, length), ...keysOf(text.slice(length))]
}
