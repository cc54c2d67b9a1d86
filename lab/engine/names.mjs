/** Gives each name a number, from 0 on. After `most` names, all further names share one number, named `others`. */
export class Names {
  #numbers = new Map()
  #names = []
  #most

  constructor(most = Infinity) {
    this.#most = most
  }

  get size() {
    return this.#names.length
  }

  numberOf(name) {
    return this.#numbers.get(name) ?? this.#add(name)
  }

  nameOf(number) {
    return this.#names[number]
  }

  #add(name) {
    if (this.#names.length === this.#most) return this.#remember('(others)')
    return this.#remember(copy(name))
  }

  #remember(name) {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.#names.length)
    return this.#names.push(name) - 1
  }
}

/** A copy of the text. A substring keeps the whole line that it was cut from in memory. */
function copy(text) {
  return JSON.parse(JSON.stringify(text))
}
