import { HeadgateError } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { GuardOptions } from './options.ts'

/** To a framework, an error that is undefined would mean "go on". */
function nothingThrown(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_KEY',
    'A key extractor threw undefined. Throw an Error, or return undefined for no key.',
  )
}

/** What an adapter has of a guard. */
export abstract class Gate<Request, Response> {
  /** What it was told that a limit within its reach inherits. */
  abstract readonly options: GuardOptions<Request, Response>

  /**
   * Whether the request may go on; if not, it has been answered, or its client is gone. Throws or rejects with what the
   * application's functions or the store threw: the adapter hands that to its framework's error path.
   */
  abstract check(request: Request, response: Response): MaybePromise<boolean>

  /** `check` for frameworks that are told to go on by a callback: called if admitted, or with the error. */
  run(request: Request, response: Response, next: (error?: unknown) => void): void {
    let admitted: MaybePromise<boolean>
    try {
      admitted = this.check(request, response)
    } catch (error) {
      next(error ?? nothingThrown())
      return
    }
    if (admitted === true) next()
    else if (admitted !== false) goOn(admitted, next)
  }
}

function goOn(admitted: Promise<boolean>, next: (error?: unknown) => void): void {
  admitted.then(
    (go) => go && next(),
    (error) => next(error ?? nothingThrown()),
  )
}
