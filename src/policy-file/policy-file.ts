import { files } from '#platform'
import {
  asError,
  callHook,
  getOrInsert,
  HeadgateError,
  hook,
  readOptions,
  reason,
  shown,
  warnOnce,
} from '../common/index.ts'
import type { PlanLike } from '../limiter/index.ts'
import { rememberEarlier } from '../policy/index.ts'
import { writeJson } from './json-document.ts'
import { type AskedPlan, KnownPlans } from './known-plans.ts'
import { changesBetween, lineOf, type PolicyChange } from './policy-changes.ts'
import { type LimiterPlans, type PlanOfFile, type PolicyDocument, readPolicyDocument } from './policy-document.ts'

export type { PolicyChange } from './policy-changes.ts'

/** The options of `policiesFrom`. */
export interface PolicyFileOptions {
  /**
   * Called with the changes after a new version of the file has taken effect. Default: prints a line for each change with `console.info`.
   * Example: `(changes) => logger.info({ changes }, 'policies changed')`.
   */
  onChange?: ((changes: readonly PolicyChange[]) => unknown) | undefined
  /**
   * Called when a new version of the file is invalid: the old version then stays in effect. Also called when a plan stays as it was while the
   * rest of a new version applies. A call fails under the new plan and succeeds under the old plan. Or a version removes a plan before its
   * first call. Default: one warning for each error.
   */
  onInvalid?: ((error: HeadgateError) => unknown) | undefined
}

/** The state of a policy file: the age of the version in effect, and the error of a newer version. */
export interface PolicyFileHealth {
  /** When the version in effect was read, in milliseconds since the epoch. */
  readonly since: number
  /** The error of a newer version that is invalid, or that has a plan which this process cannot use. Undefined if all of the newest version is in effect. */
  readonly error?: HeadgateError
  /** When `error` was first seen, in milliseconds since the epoch. Undefined if there is no `error`. */
  readonly invalidSince?: number
}

const readers = {
  onChange: hook('(changes) => logger.info({ changes })'),
  onInvalid: hook('(error) => logger.error(error)'),
}

/**
 * Policies from a JSON file, or from an object of the same form. The file is checked for changes twice a second. A limiter that asks `plan`
 * uses a valid new version from its next call on. Used units stay used, as with plans. An invalid new version changes nothing.
 *
 *     const limits = policiesFrom('policies.json')
 *     app.use(rateLimit({ name: 'api', policies: () => limits.plan('api'), store }))
 *     limiter.withPlan(limits.plan('api', customer.plan)).consume(customer.id)
 *
 * @throws HeadgateError `HEADGATE_POLICY_FILE` if the file cannot be read or is not a policy file; the codes of policies if a policy is
 *   invalid. The message begins with the line
 */
export function policiesFrom(source: string | URL | object, options: PolicyFileOptions = {}): PolicyFile {
  return new PolicyFile(source, options)
}

interface SeenError {
  readonly error: HeadgateError
  /** When the error was first seen, in milliseconds since the epoch. */
  readonly since: number
}

/** The policies of the file's version in effect. See `policiesFrom`. */
export class PolicyFile {
  readonly #name: string | undefined
  readonly #options: PolicyFileOptions
  readonly #stop: () => void
  /** The limiters and plans that `plan` was asked for. A new version of the file is invalid if it lacks such a limiter or plan. */
  readonly #asked = new Map<string, AskedPlan>()
  readonly #known = new KnownPlans()
  #document: PolicyDocument
  #text: string
  #since = Date.now()
  /** The error of a version that is not in effect. */
  #error: SeenError | undefined
  /** The error of a plan that is in effect for other processes, and that this process cannot use. */
  #unusable: SeenError | undefined

  constructor(source: string | URL | object, options: PolicyFileOptions = {}) {
    this.#options = readOptions('policiesFrom', options, readers)
    if (typeof source !== 'string' && !(source instanceof URL)) {
      this.#text = writeJson(source)
      this.#document = this.#known.known(readPolicyDocument(this.#text, undefined))
      this.#stop = () => {}
      return
    }
    if (files === undefined) {
      throw new HeadgateError(
        'HEADGATE_UNSUPPORTED',
        "This runtime has no files. Pass an object: policiesFrom({ limiters: { api: ['100/15m'] } }).",
      )
    }
    this.#name = String(source)
    this.#text = this.#readNow(files.read, source)
    this.#document = this.#known.known(readPolicyDocument(this.#text, this.#name))
    this.#stop = files.poll(
      source,
      (text) => this.#look(text),
      (error) => this.#refuse(this.#unreadable(error)),
    )
  }

  /**
   * The present plan of a limiter, for `policies` of a middleware and for `withPlan`. Until the file changes, the plan is always the same
   * object, so that a limiter finds the plan fast. A plan that a change of the file has removed stays as it was.
   * @param limiter the name of a limiter in the file
   * @param plan the name of a plan of the limiter. Default: the `policies` of the limiter
   * @throws HeadgateError `HEADGATE_POLICY_FILE` if no version that this process has read has such a limiter or plan
   */
  plan(limiter: string, plan?: string): PlanLike {
    const name = plan === undefined ? limiter : `${limiter}\n${plan}`
    const present = planIn(this.#document, limiter, plan)
    const found = present ?? this.#asked.get(name)?.newest ?? this.#known.newest(limiter, plan)
    if (found === undefined) throw this.#missing(this.#document, limiter, plan)
    const asked = getOrInsert(this.#asked, name, () => {
      if (present === undefined) this.#keep(limiter, plan)
      return { limiter, plan, newest: found, used: found }
    })
    if (asked.newest !== found) this.#use(asked, found)
    return asked.used
  }

  /**
   * The limiters of the version in effect by name, each with its own plan and its named plans. A new version may lack a limiter or plan that
   * was only listed, and not asked for with `plan`. Example: `limits.limiters().get('api')?.plans.keys()`.
   */
  limiters(): ReadonlyMap<string, LimiterPlans> {
    return new Map(this.#document)
  }

  /** When the version in effect was read, and the error of a newer version if that version is invalid. */
  health(): PolicyFileHealth {
    const error = this.#error ?? this.#unusable
    return { since: this.#since, ...(error !== undefined && { error: error.error, invalidSince: error.since }) }
  }

  /** Ends the checks of the file. The version in effect stays in effect. */
  close(): void {
    this.#stop()
  }

  #readNow(read: (path: string | URL) => string, source: string | URL): string {
    try {
      return read(source)
    } catch (error) {
      throw this.#unreadable(error)
    }
  }

  #unreadable(error: unknown): HeadgateError {
    return new HeadgateError(
      'HEADGATE_POLICY_FILE',
      `${this.#name} cannot be read: ${reason(error)} Check the path, which begins at the working directory.`,
    )
  }

  #look(text: string): void {
    if (text === this.#text && this.#error === undefined) return
    try {
      const document = readPolicyDocument(text, this.#name)
      for (const { limiter, plan } of this.#asked.values()) {
        const removed = planIn(document, limiter, plan) === undefined
        if (removed && planIn(this.#document, limiter, plan) !== undefined) throw this.#missing(document, limiter, plan)
      }
      this.#put(text, document)
    } catch (error) {
      this.#refuse(asError(error) as HeadgateError)
    }
  }

  #put(text: string, document: PolicyDocument): void {
    const changes = changesBetween(this.#document, document)
    this.#document = this.#known.known(document)
    this.#text = text
    this.#error = undefined
    if (changes.length === 0) return
    this.#unusable = undefined
    this.#since = Date.now()
    for (const { limiter, plan } of this.#asked.values()) {
      if (planIn(this.#document, limiter, plan) === undefined) this.#keep(limiter, plan)
    }
    const { onChange = (all: readonly PolicyChange[]) => this.#log(all) } = this.#options
    callHook('onChange of policiesFrom', onChange, changes, 'calls')
  }

  #log(changes: readonly PolicyChange[]): void {
    for (const change of changes) console.info(`${this.#name}: ${lineOf(change)}`)
  }

  /** Uses the new version, until a call fails under it and succeeds under the version before, and the call's own key is not the cause. */
  #use(asked: AskedPlan, plan: PlanOfFile): void {
    const earlier = asked.before ?? asked.used
    Object.assign(asked, { newest: plan, used: plan, before: undefined })
    if (plan === 'unlimited') return
    let found: SeenError | undefined
    const onUnusable = (error: HeadgateError, byCall: boolean) => {
      if (asked.used !== plan) return
      if (!byCall) asked.used = earlier
      else if (found !== undefined) return
      else asked.before = earlier
      const place = [asked.limiter, ...(asked.plan === undefined ? [] : ['plans', asked.plan])].join('.')
      const message = `${this.#name}, limiters.${place}: a call fails under the new plan. ${error.message}`
      this.#reportUnusable(new HeadgateError(error.code, message))
      found = this.#unusable
    }
    const onUsed = () => {
      if (asked.used !== plan) return
      asked.before = undefined
      if (this.#unusable === found) this.#unusable = undefined
    }
    rememberEarlier(plan, { plan: earlier, onUnusable, onUsed })
  }

  /** Says that a plan which the version in effect lacks stays as it was. */
  #keep(limiter: string, plan: string | undefined): void {
    const { code, message } = this.#missing(this.#document, limiter, plan)
    this.#reportUnusable(new HeadgateError(code, `${message} A call needs it, so it stays as it was.`))
  }

  #reportUnusable(error: HeadgateError): void {
    this.#unusable = { error, since: Date.now() }
    this.#report(error)
  }

  #refuse(error: HeadgateError): void {
    if (this.#error?.error.message === error.message) return
    this.#error = { error, since: this.#error?.since ?? Date.now() }
    this.#report(error)
  }

  #report(error: HeadgateError): void {
    const {
      onInvalid = (found: HeadgateError) =>
        warnOnce(found.code, `The old policies stay in force. ${found.message}`, found.message),
    } = this.#options
    callHook('onInvalid of policiesFrom', onInvalid, error, 'calls')
  }

  #missing(document: PolicyDocument, limiter: string, plan: string | undefined): HeadgateError {
    const file = this.#name ?? 'The policies'
    const found = document.get(limiter)
    const names = (given: Iterable<string>) => [...given].join(', ') || 'none'
    if (found === undefined) {
      return new HeadgateError(
        'HEADGATE_POLICY_FILE',
        `${file}: there is no limiter ${shown(limiter)}. The limiters are ${names(document.keys())}.`,
      )
    }
    const missing = plan === undefined ? 'no "policies"' : `no plan ${shown(plan)}`
    return new HeadgateError(
      'HEADGATE_POLICY_FILE',
      `${file}: the limiter ${shown(limiter)} has ${missing}. Its plans are ${names(found.plans.keys())}.`,
    )
  }
}

function planIn(document: PolicyDocument, limiter: string, plan: string | undefined): PlanOfFile | undefined {
  const found = document.get(limiter)
  return plan === undefined ? found?.own : found?.plans.get(plan)
}
