import type { Policy, Windows } from '../../algorithms/index.ts'
import { mostExpiring } from '../../algorithms/windows/index.ts'
import { HeadgateError, invalidOption, isPromise, type MaybePromise, shown, wallClock } from '../../common/index.ts'
import type { CallerCalendar, CallerCalendars } from '../../policy/index.ts'
import { type Command, type Elsewhere, type OutcomeOf, tooMany, type Verb } from './command.ts'
import type { CheckedLedger, Health } from './health.ts'
import type { OnFailure } from './on-store-error.ts'

/** The verbs whose commands need no calendar windows: they change or show stored states in the same way in every window. */
const withoutWindows: ReadonlySet<Verb> = new Set<Verb>(['reset', 'ban', 'unban', 'inspect', 'scan', 'clear'])

/** The parts of a command that policies with a calendar use: the windows by this process's clock, and the calendar of the customer. */
export type KeyCalendar = Pick<Command, 'windows' | 'calendar'>

type Placeable = { -readonly [Member in keyof Command]: Command[Member] }

/**
 * Gives each command the windows of the policies that have a calendar. The first windows are computed by the clock of this process. If
 * the store's clock is in other windows, the command runs once more, with windows around the store's time.
 */
export class CalendarLedger implements CheckedLedger {
  /** The ledger inside this wrapper, as the store opened it. This ledger, and not the wrapper, is passed to the store as `joins`. */
  readonly opened: CheckedLedger
  readonly #policies: readonly Policy[]
  /** The calendar fields (`anchor`, `timeZone`) that the policies take from a call. */
  readonly #asked: Asked
  /**
   * A time of the store, in microseconds. Calls use the windows around this time, so most calls need not read the clock. If the store's
   * time has left these windows, the store says so, and this time is set again.
   */
  #time: number | undefined
  /** The windows around `#time`, for calls that give no calendar. */
  #fixed: readonly (Windows | undefined)[] | undefined
  health?: () => Health

  /** @param isOverride true for the policies of an override: a call may then give any calendar, because it is written for the plan */
  constructor(ledger: CheckedLedger, policies: readonly Policy[], isOverride: boolean) {
    this.opened = ledger
    this.#policies = [...policies] // V8 reads the elements of a frozen array more slowly
    this.#asked = isOverride ? { anchor: true, timeZone: true } : askedBy(policies)
    if (ledger.health !== undefined) this.health = () => (ledger.health as () => Health)()
  }

  /**
   * Writes the windows into the command, which is faster than copying the command. No other call uses the same command.
   * @param now the store's time, if the store has answered that no window of the command contains its time
   */
  #place(command: Placeable, now?: number): void {
    const { calendar } = command
    if (calendar === undefined && now === undefined && this.#fixed !== undefined) {
      command.windows = this.#fixed
      return
    }
    // If the command has windows already, a wrapper with more scopes has checked the calendar, also for scopes that this ledger lacks.
    if (calendar !== undefined && command.windows === undefined) {
      checkCalendars(calendar, this.#policies, this.#asked)
    }
    if (now !== undefined) this.#time = now
    this.#time ??= wallClock()
    const windows = allWindows(this.#policies, this.#time, calendar)
    if (calendar === undefined) this.#fixed = windows
    command.windows = windows
  }

  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    if (command.verb !== 'consume' && withoutWindows.has(command.verb)) return this.opened.run(command, onFailure)
    this.#place(command)
    const outcome = this.opened.run(command, onFailure)
    if (isPromise(outcome)) return this.#later(outcome, command, onFailure)
    return elsewhereOf(outcome) === undefined ? outcome : this.#again(outcome, command, onFailure)
  }

  /** The asynchronous part of `run`. A closure in `run` would make each call slower, so this is a separate method. */
  #later<V extends Verb>(
    outcome: Promise<OutcomeOf<V>>,
    command: Command<V>,
    onFailure: OnFailure | undefined,
  ): Promise<OutcomeOf<V>> {
    return outcome.then((first) => this.#again(first, command, onFailure))
  }

  /** Returns the outcome. If the store's clock is in other windows, returns the outcome of a second attempt. */
  #again<V extends Verb>(
    outcome: OutcomeOf<V>,
    command: Command<V>,
    onFailure: OnFailure | undefined,
  ): MaybePromise<OutcomeOf<V>> {
    const now = elsewhereOf(outcome)
    if (now === undefined) return outcome
    if (now === tooMany) return decided(outcome)
    this.#place(command, now)
    const second = this.opened.run(command, onFailure)
    return isPromise(second) ? second.then(decided) : decided(second)
  }
}

/**
 * Runs a part of a command, such as the part on the keys in one slot of Redis Cluster. If the store's clock is in other windows, runs
 * this part once more, with windows around the store's time. The whole command must not run again, because the other parts have changed
 * their keys.
 * @param policies the policies of this part
 * @param brought the windows and the calendar in the command, for these policies
 * @param run runs the part with these windows
 * @throws HeadgateError `HEADGATE_STORE` if the store's time is in other windows again
 */
export async function runPart<T>(
  policies: readonly Policy[],
  { windows, calendar }: KeyCalendar,
  run: (windows: Command['windows']) => Promise<T>,
): Promise<T> {
  const outcome = await run(windows)
  const now = elsewhereOf(outcome)
  return now === undefined ? outcome : decided(await run(allWindows(policies, now, calendar)))
}

/**
 * Returns the outcome of the last attempt, if the store has decided the command.
 * @throws HeadgateError `HEADGATE_STORE` if the store's time is in other windows again
 * @throws HeadgateError `HEADGATE_RESERVATIONS` if a key has too many reservations that expire
 */
function decided<T>(outcome: T): T {
  const now = elsewhereOf(outcome)
  if (now === undefined) return outcome
  if (now === tooMany) {
    throw new HeadgateError(
      'HEADGATE_RESERVATIONS',
      `The key has ${mostExpiring} open reservations with onExpiry: 'give-back', so it gets no more. Settle or cancel each of them when ` +
        'its work ends, make one reservation for a whole batch, or let reservations expire sooner.',
    )
  }
  throw new HeadgateError(
    'HEADGATE_STORE',
    "The store's clock jumped between two attempts of a call by more than a window of its calendar. Check the clock of the store.",
    { uncounted: true },
  )
}

function elsewhereOf(outcome: unknown): number | undefined {
  return (outcome as Partial<Elsewhere> | undefined)?.elsewhere
}

function allWindows(
  policies: readonly Policy[],
  now: number,
  calendar: CallerCalendars | undefined,
): readonly (Windows | undefined)[] {
  if (policies.length === 1) return [windowsOf(policies[0] as Policy, now, calendar)]
  return policies.map((policy) => windowsOf(policy, now, calendar))
}

/**
 * The windows of a policy around `now`. Undefined if the policy has no calendar.
 * @param now in microseconds since the epoch
 * @throws HeadgateError `HEADGATE_CALENDAR` if `calendar` lacks a field that the policy takes from the call, or if a field is invalid
 */
export function windowsOf(policy: Policy, now: number, calendar: CallerCalendars | undefined): Windows | undefined {
  if (policy.calendar === undefined) return undefined
  const said = calendar && calendarOf(policy, calendar)
  const windows = policy.calendar.windowsAt(now, said)
  if (windows === undefined) throw unsaid(policy, said)
  return windows
}

function unsaid({ name, calendar }: Policy, said: CallerCalendar | undefined): HeadgateError {
  const asks = calendar?.asks ?? []
  const missing = asks.filter((part) => said?.[part] === undefined).map((part) => `${part}: 'caller'`)
  return new HeadgateError(
    'HEADGATE_CALENDAR',
    `The policy ${shown(name)} has ${missing.join(' and ')}, and the call does not say ${missing.length > 1 ? 'them' : 'it'}. ` +
      `Give the call calendar: { ${asks.join(', ')} }, or let the option calendar of a middleware return it.`,
  )
}

/** The customer's calendar that the call gives for a policy's scope. */
function calendarOf({ scope }: Policy, calendar: CallerCalendars): CallerCalendar | undefined {
  if (isOne(calendar)) return calendar
  return Object.hasOwn(calendar, scope) ? calendar[scope] : undefined
}

function isOne(calendar: CallerCalendars): calendar is CallerCalendar {
  return 'anchor' in calendar || 'timeZone' in calendar
}

/**
 * Checks the `calendar` that a call gives.
 * @throws HeadgateError `HEADGATE_CALENDAR` if the calendar is malformed, or has a field that no policy takes from the call
 */
function checkCalendars(calendar: CallerCalendars, policies: readonly Policy[], asked: Asked): void {
  checkForm(calendar, 'calendar')
  if (isOne(calendar)) checkAsked(calendar, asked)
  else checkRecord(calendar, policies, askedBy)
}

/**
 * Checks the `calendar` of a call under policies without a calendar, for which no `CalendarLedger` is made.
 * @throws HeadgateError `HEADGATE_CALENDAR` if the calendar is malformed, or has a field
 */
export function checkNoCalendars(calendar: CallerCalendars, policies: readonly Policy[]): void {
  if (policies.some((policy) => policy.calendar !== undefined)) return
  checkForm(calendar, 'calendar')
  if (isOne(calendar)) checkAsked(calendar, nothing)
  else checkRecord(calendar, policies, () => nothing)
}

function checkRecord(
  calendar: Readonly<Record<string, CallerCalendar>>,
  policies: readonly Policy[],
  askedOf: (policies: readonly Policy[]) => Asked,
): void {
  for (const [scope, said] of Object.entries(calendar)) {
    const ofScope = policies.filter((policy) => policy.scope === scope)
    if (ofScope.length === 0 && !hasForm(said)) throw noMember(scope, policies)
    checkForm(said, `calendar.${scope}`)
    checkAsked(said, askedOf(ofScope))
  }
}

function noMember(name: string, policies: readonly Policy[]): HeadgateError {
  const scopes = [...new Set(policies.map(({ scope }) => shown(scope)))].join(', ')
  return new HeadgateError(
    'HEADGATE_CALENDAR',
    `calendar has no member ${name}. It has anchor and timeZone, or for each scope (${scopes}) an object with these. ` +
      'Write calendar: { anchor: customer.since }.',
  )
}

function hasForm(said: unknown): boolean {
  return typeof said === 'object' && said !== null && !(said instanceof Date)
}

function checkForm(said: unknown, name: string): void {
  if (!hasForm(said)) throw wrongForm(said, name)
}

function wrongForm(said: unknown, name: string): HeadgateError {
  const expected = name === 'calendar' ? '{ anchor, timeZone }, or a record of them by scope' : '{ anchor, timeZone }'
  return invalidOption(name, expected, said, 'Write { anchor: customer.since }.', 'HEADGATE_CALENDAR')
}

/** For each field of a customer's calendar, true if a policy takes the field from the call. */
type Asked = Readonly<Record<keyof CallerCalendar, boolean>>

const nothing: Asked = { anchor: false, timeZone: false }

/** If no policy has a calendar, every field is allowed: the call may be written for another plan, whose policies have calendars. */
function askedBy(policies: readonly Policy[]): Asked {
  const calendars = policies.flatMap(({ calendar }) => calendar ?? [])
  const asks = (part: keyof CallerCalendar) =>
    calendars.length === 0 || calendars.some((calendar) => calendar.asks.includes(part))
  return { anchor: asks('anchor'), timeZone: asks('timeZone') }
}

function checkAsked({ anchor, timeZone }: CallerCalendar, asked: Asked): void {
  if (anchor !== undefined && !asked.anchor) throw notAsked('anchor')
  if (timeZone !== undefined && !asked.timeZone) throw notAsked('timeZone')
}

function notAsked(extra: keyof CallerCalendar): HeadgateError {
  return new HeadgateError(
    'HEADGATE_CALENDAR',
    `The call says ${extra}, but no policy asks for it. Leave it out of the call, or write ${extra}: 'caller' in the policy.`,
  )
}
