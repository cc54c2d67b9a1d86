import { warnOnce } from '../warn.ts'
import type { Framework, RequestDecision } from './framework.ts'

/** Warns once if a request passes the same middleware twice: then it counts twice. */
export class RepeatedUse<Request, Response> {
  /** The last decision. Each call makes a new one, so it identifies the request without keeping it alive. */
  #latest: RequestDecision | undefined

  /** Call it before the decision is attached to the request. */
  note(framework: Framework<Request, Response>, request: Request, decision: RequestDecision): void {
    if (this.#latest !== undefined && framework.attached?.(request) === this.#latest) {
      warnOnce(
        'HEADGATE_TWICE',
        'A request passed the same rate limiter twice, and counted twice. Use the middleware once for each route: in ' +
          'app.use(limit), or on the route. For another limit on the route, make another middleware.',
      )
    }
    this.#latest = decision
  }
}
