import { Picture, scaleOf } from './picture.mjs'
import { Recording } from './recording.mjs'
import { timeText } from './time-text.mjs'

/** From this many requests on, going back is shown when the pointer rests: the state has to be played from the beginning. */
const many = 20_000

/** What a lane shows before the first request. */
export const nothing = {
  numbers: { admitted: 0, refused: 0, most: 0, limit: 0 },
  state: { name: '', bars: [] },
  words: '',
  reason: '',
}

/** The recordings of all policies of a playground, and their pictures at one scale. Times are milliseconds from the start. */
export class Player {
  /** @type {Record<string, Recording>} */
  recordings = {}
  #pictures = {}
  #scale
  #perPixel

  /**
   * @param {Record<string, import('headgate').Policy | undefined>} policies by lane
   * @param {(policy: object) => object} workloadOf the workload for a policy
   * @param {{ shared: boolean, begin: number, length: number, start?: number }} terms `start`: the date of time 0, for a log
   */
  constructor(policies, workloadOf, { shared, begin, length, start }) {
    for (const [name, policy] of Object.entries(policies)) {
      if (policy !== undefined) this.recordings[name] = new Recording(policy, () => workloadOf(policy), { shared })
    }
    this.shared = shared
    this.begin = begin
    this.start = start
    this.end = Math.max(length, ...this.#all.map(({ times }) => times.at(-1) ?? 0))
    /** Just before the first request. */
    this.before = begin - 0.001
  }

  get #all() {
    return Object.values(this.recordings)
  }

  /** The time of the first request after a time; undefined after the last one. */
  nextAfter(time) {
    const times = this.#all.map((recording) => recording.times[recording.countAt(time)])
    const coming = times.filter((each) => each !== undefined)
    return coming.length === 0 ? undefined : Math.min(...coming)
  }

  /** The picture of a lane at a scale, and what is in view at a time. */
  frame(name, time, view, width) {
    const perPixel = view / width
    if (perPixel !== this.#perPixel) this.#draw(perPixel)
    const count = this.recordings[name].countAt(time)
    const from = Math.max(this.begin, time - view)
    return [this.#pictures[name], { from, now: time, view, count, scale: this.#scale, start: this.start }]
  }

  #draw(perPixel) {
    this.#perPixel = perPixel
    const terms = { begin: this.begin, end: this.end, perPixel, shared: this.shared }
    this.#pictures = Object.fromEntries(
      Object.entries(this.recordings).map(([name, recording]) => [name, new Picture(recording, terms)]),
    )
    this.#scale = scaleOf(Object.values(this.#pictures))
  }

  /** The numbers of a lane at a time. While the pointer moves through many requests, the state stays as it was. */
  shownAt(name, time, { scrubbing, shown }) {
    const recording = this.recordings[name]
    const count = recording.countAt(time)
    const quick = scrubbing && recording.times.length > many
    const state = quick ? shown.state : recording.runAfter(count).state(time)
    return { ...shown, numbers: recording.numbersAt(count), last: recording.decision(count - 1), state }
  }

  /** What `inspect` says at a time. */
  async wordsAt(name, time) {
    const recording = this.recordings[name]
    const run = recording.runAfter(recording.countAt(time))
    const { words, remaining } = await run.inspect(time)
    return `Now ${remaining} remain. ${words}`
  }

  /** What was decided about a request, and why, in the words of `inspect`. */
  async reasonOf(name, n) {
    const recording = this.recordings[name]
    const decision = recording.decision(n)
    if (decision === undefined) return ''
    const cost = decision.cost === 1 ? '' : `, cost ${decision.cost}`
    const who = this.shared ? '' : `, client ${decision.client + 1}`
    const at = timeText(decision.time, this.start)
    const verdict = decision.allowed ? 'admitted' : 'refused'
    return `Request ${decision.number} at ${at}${who}${cost}: ${verdict}. ${await recording.wordsAfter(n)}`
  }
}
