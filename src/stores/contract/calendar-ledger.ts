import type { Policy } from '../../algorithms/index.ts'
import { HeadgateError, invalidOption, type MaybePromise, wallClock } from '../../common/index.ts'
import type { CallerCalendar, CallerCalendars } from '../../policy/index.ts'
import type { Command, Elsewhere, OutcomeOf, Verb } from './command.ts'
import type { CheckedLedger, Health } from './health.ts'
import type { OnFailure } from './on-store-error.ts'

/** The verbs that need no windows, because they change or show whatever states there are. */
const withoutWindows: ReadonlySet<Verb> = new Set<Verb>(['reset', 'ban', 'unban', 'inspect', 'scan', 'clear'])

/**
 * Gives each command the windows of the policies that have a calendar. The windows are computed by the clock of this process. If
 * the store's clock is in other windows, the command runs once more, with windows around the store's time.
 */
export class CalendarLedger implements CheckedLedger {
  /** The ledger that the store opened, for a store whose ledgers join another. */
  readonly opened: CheckedLedger
  readonly #policies: readonly Policy[]
  /** How far the store's clock was ahead of this process's clock when a command had to run again, in microseconds. */
  #ahead = 0
  health?: () => Health

  constructor(ledger: CheckedLedger, policies: readonly Policy[]) {
    this.opened = ledger
    this.#policies = policies
    if (ledger.health !== undefined) this.health = () => (ledger.health as () => Health)()
  }

  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    if (withoutWindows.has(command.verb)) return this.opened.run(command, onFailure)
    const { calendar, ...rest } = command
    if (calendar !== undefined) checkCalendars(calendar, this.#policies)
    const at = (now: number) => {
      const windows = this.#policies.map((policy) => policy.calendar?.windowsAt(now, calendarOf(policy, calendar)))
      return this.opened.run({ ...(rest as Command<V>), windows }, onFailure)
    }
    const again = (outcome: OutcomeOf<V>): MaybePromise<OutcomeOf<V>> => {
      const now = elsewhereOf(outcome)
      if (now === undefined) return outcome
      this.#ahead = now - wallClock()
      return after(at(now), (second) => {
        if (elsewhereOf(second) === undefined) return second
        throw twiceElsewhere()
      })
    }
    return after(at(wallClock() + this.#ahead), again)
  }
}

function after<T>(outcome: MaybePromise<T>, next: (outcome: T) => MaybePromise<T>): MaybePromise<T> {
  return outcome instanceof Promise ? outcome.then(next) : next(outcome as T)
}

function elsewhereOf(outcome: unknown): number | undefined {
  return (outcome as Partial<Elsewhere> | undefined)?.elsewhere
}

/** What the call says about the customer of a policy's scope. */
function calendarOf({ scope }: Policy, calendar: CallerCalendars | undefined): CallerCalendar | undefined {
  if (calendar === undefined || isOne(calendar)) return calendar
  return Object.hasOwn(calendar, scope) ? calendar[scope] : undefined
}

function isOne(calendar: CallerCalendars): calendar is CallerCalendar {
  return 'anchor' in calendar || 'timeZone' in calendar
}

/**
 * Checks what a call says about calendars.
 * @throws HeadgateError `HEADGATE_CALENDAR` for another form, or if the call says what all its policies fix
 */
function checkCalendars(calendar: CallerCalendars, policies: readonly Policy[]): void {
  checkForm(calendar, 'calendar')
  if (isOne(calendar)) {
    checkAsked(calendar, policies)
    return
  }
  for (const [scope, said] of Object.entries(calendar)) {
    checkForm(said, `calendar.${scope}`)
    const ofScope = policies.filter((policy) => policy.scope === scope)
    checkAsked(said, ofScope)
  }
}

function checkForm(said: unknown, name: string): void {
  if (typeof said === 'object' && said !== null) return
  const expected = name === 'calendar' ? '{ anchor, timeZone }, or a record of them by scope' : '{ anchor, timeZone }'
  throw invalidOption(name, expected, said, 'Write { anchor: customer.since }.', 'HEADGATE_CALENDAR')
}

/** A scope without a policy of a calendar is no mistake: another plan may have one. */
function checkAsked(said: CallerCalendar, policies: readonly Policy[]): void {
  const calendars = policies.flatMap((policy) => policy.calendar ?? [])
  const extra = (['anchor', 'timeZone'] as const).find(
    (part) => said[part] !== undefined && !calendars.some(({ asks }) => asks.includes(part)),
  )
  if (extra === undefined || calendars.length === 0) return
  throw new HeadgateError(
    'HEADGATE_CALENDAR',
    `The call says ${extra}, but no policy asks for it. Leave it out of the call, or write ${extra}: 'caller' in the policy.`,
  )
}

function twiceElsewhere(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE',
    "The store's clock jumped between two attempts of a call by more than a window of its calendar. Check the clock of the store.",
    { uncounted: true },
  )
}
