import { HeadgateError } from '../errors.ts'

export function queueFull(maxQueue: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_QUEUE_FULL',
    `${maxQueue} calls wait already, as many as may. Try later, or give the pacer a larger maxQueue.`,
  )
}

export function timedOut(timeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_TIMEOUT',
    `No turn within ${Math.round(timeout)} ms; nothing was taken. Wait longer, or use tryAcquire, which says false instead.`,
  )
}

export function tooLarge(cost: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_COST',
    `${cost} permits can never be had at once from this policy. Ask for fewer, or give it a larger limit or burst.`,
  )
}

export function tooLate(): HeadgateError {
  return new HeadgateError('HEADGATE_MAX_WAIT', 'The turn would come in more than 366 days. Ask for fewer permits.')
}

export function closed(): HeadgateError {
  return new HeadgateError('HEADGATE_CLOSED', 'This pacer is closed. Make a new one: new Pacer(policy).')
}
