/** The requests of a log, in 12 bytes each: the client's number, and the time. */
export class RequestColumns {
  length = 0
  #clients = new Uint32Array(4096)
  #times = new Float64Array(4096)

  add(client, time) {
    if (this.length === this.#clients.length) this.#grow()
    this.#clients[this.length] = client
    this.#times[this.length++] = time
  }

  client(n) {
    return this.#clients[n]
  }

  time(n) {
    return this.#times[n]
  }

  /** The times of each client's requests, in order. */
  byClient(clients) {
    const ends = new Uint32Array(clients + 1)
    for (let n = 0; n < this.length; n++) ends[this.#clients[n] + 1]++
    for (let client = 0; client < clients; client++) ends[client + 1] += ends[client]
    const sorted = new Float64Array(this.length)
    const next = ends.slice(0, clients)
    for (let n = 0; n < this.length; n++) sorted[next[this.#clients[n]]++] = this.#times[n]
    return Array.from({ length: clients }, (_, client) => inOrder(sorted.subarray(ends[client], ends[client + 1])))
  }

  #grow() {
    const [clients, times] = [this.#clients, this.#times]
    this.#clients = new Uint32Array(clients.length * 2)
    this.#times = new Float64Array(times.length * 2)
    this.#clients.set(clients)
    this.#times.set(times)
  }
}

/** Sorts times that are out of order: a request that came more than 50,000 lines late. */
function inOrder(times) {
  return times.every((time, n) => n === 0 || times[n - 1] <= time) ? times : times.sort()
}
