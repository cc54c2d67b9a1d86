import { type Duration, milliseconds } from '../duration.ts'
import { positiveInteger } from '../options.ts'
import { checkChoice, type OnStoreError } from './on-store-error.ts'
import type { FailoverOptions } from './shared.ts'

/** The options of a limiter, or of a pacer, that say what happens when its store fails. */
export const failureOptions = ['onStoreError', 'instances', 'storeTimeout'] as const

interface Given {
  onStoreError?: OnStoreError | undefined
  instances?: number | undefined
  storeTimeout?: Duration | undefined
}

/** @param where whose options they are @throws HeadgateError `HEADGATE_OPTION` */
export function readFailureOptions({ onStoreError, instances, storeTimeout }: Given, where: string): FailoverOptions {
  return {
    onStoreError: checkChoice(onStoreError, `${where}: onStoreError`),
    instances: positiveInteger(instances ?? 1, `${where}: instances`, 'HEADGATE_OPTION'),
    storeTimeout:
      storeTimeout === undefined ? undefined : milliseconds(storeTimeout, `${where}: storeTimeout`, 'HEADGATE_OPTION'),
  }
}
