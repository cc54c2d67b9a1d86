import { hook } from '../option-readers.ts'
import { warnOnce } from '../warn.ts'
import type { Framework, RequestDecision } from './framework.ts'
import type { GuardOptions } from './guard-options.ts'

/** Puts decisions where the application finds them: in the framework's place, or by the option `attach`. */
export class Attachment<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #attach: GuardOptions<Request, Response>['attach']
  /** The last decision. Each call makes a new one, so it identifies the request without keeping it alive. */
  #latest: RequestDecision | undefined

  /** @throws HeadgateError `HEADGATE_OPTION` if the option is no function */
  constructor(framework: Framework<Request, Response>, attach: GuardOptions<Request, Response>['attach']) {
    this.#framework = framework
    this.#attach = hook('(decision, request) => ...')(attach, 'attach')
  }

  put(decision: RequestDecision, request: Request, response: Response): void {
    const framework = this.#framework
    if (this.#attach !== undefined) {
      this.#attach(decision, request, response)
      return
    }
    if (this.#latest !== undefined && framework.attached?.(request) === this.#latest) warnOfRepeatedUse()
    this.#latest = decision
    framework.attach(request, response, decision)
  }
}

function warnOfRepeatedUse(): void {
  warnOnce(
    'HEADGATE_TWICE',
    'A request passed the same rate limiter twice, and counted twice. Use the middleware once for each route: in ' +
      'app.use(limit), or on the route. For another limit on the route, make another middleware.',
  )
}
