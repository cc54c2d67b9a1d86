import { HeadgateError, invalidOption } from '../common/index.ts'
import { type CallCost, unitsIn } from './pacer-cost.ts'

export function queueFull(maxQueue: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_QUEUE_FULL',
    `${maxQueue} calls wait already, and maxQueue allows no more. Try later, or give the pacer a larger maxQueue.`,
  )
}

export function timedOut(timeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_TIMEOUT',
    `No slot within ${Math.round(timeout)} ms, and no units were taken. Give a longer timeout, or use tryAcquire, which resolves with false.`,
  )
}

export function ranTooLong(runTimeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_RUN_TIMEOUT',
    `The function ran for longer than ${runTimeout} ms. Its slot is free again. Give a longer runTimeout, or end the work when its signal is aborted.`,
  )
}

export function tooLarge(cost: CallCost): HeadgateError {
  return new HeadgateError(
    'HEADGATE_COST',
    `This policy can never give ${JSON.stringify(unitsIn(cost))} units at once. Ask for fewer, or give it a larger limit or burst.`,
  )
}

export function tooLate(): HeadgateError {
  return new HeadgateError('HEADGATE_MAX_WAIT', 'The slot would come in more than 366 days. Ask for fewer units.')
}

export function closed(): HeadgateError {
  return new HeadgateError('HEADGATE_CLOSED', 'This pacer is closed. Make a new one: new Pacer(policy).')
}

export function needsFunction(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_POLICY',
    'A policy of concurrency counts a call until it has ended, and acquire cannot tell when that is. ' +
      'Use throttle(fn) or wrap(fn), or reserve() and release().',
  )
}

/** The error for a promise, or another value, in place of a function. */
export function notFunction(method: string, given: unknown): HeadgateError {
  return invalidOption(`${method}: run`, 'a function', given, `Write pacer.${method}(() => fetch(url)).`)
}
