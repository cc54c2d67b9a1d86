import { callback } from '../options.ts'
import type { Framework, RequestDecision } from './framework.ts'
import type { GuardOptions } from './guard-options.ts'
import { RepeatedUse } from './repeated-use.ts'

/** Puts decisions where the application finds them: in the framework's place, or by the option `attach`. */
export class Attachment<Request, Response> {
  readonly #framework: Framework<Request, Response>
  readonly #attach: GuardOptions<Request, Response>['attach']
  readonly #repeatedUse = new RepeatedUse<Request, Response>()

  /** @throws HeadgateError `HEADGATE_OPTION` if the option is no function */
  constructor(framework: Framework<Request, Response>, attach: GuardOptions<Request, Response>['attach']) {
    this.#framework = framework
    this.#attach = callback(attach, 'attach', '(decision, request) => ...')
  }

  put(decision: RequestDecision, request: Request, response: Response): void {
    if (this.#attach !== undefined) {
      this.#attach(decision, request, response)
      return
    }
    this.#repeatedUse.note(this.#framework, request, decision)
    this.#framework.attach(request, response, decision)
  }
}
