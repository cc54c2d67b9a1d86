/*
 * One statement for calls of `consume` under one policy, each on one key. The statement locks the rows of the keys, decides each
 * call with the SQL of the policy's algorithm (plain-steps.ts), and writes the rows of admitted calls. The statement returns the rows that
 * it read and wrote. So this process can compute the answers by the algorithm itself, and compare the two results.
 *
 *     kept      the rows of the keys, now locked. A row that another process has locked is left out
 *     timed     each call with its row, and the time after the locks
 *     numbers   the numbers of the state; none if the row is not in plain form
 *     decided   the state at the time of the call, and whether the call is admitted
 *     saved     the rows of the admitted calls
 *     added     the rows of `saved` that are new
 *     written   the rows of `saved` that existed before
 *
 * A row is in plain form if its record has only the state of this policy, written with the same limit and without open
 * reservations, and if the clock has not gone far back. A key without a row or with an empty record is new. The outcome
 * of a call is `done` if the call is admitted and its row was written, or if the call is refused and no other process
 * has locked its row. Otherwise the call has changed nothing: the outcome is `other` if the row is not in plain form,
 * else `locked`.
 *
 * A statement waits for another statement only in `added`, if the other statement is adding or changing a row of the same key. No two
 * statements wait for each other, because every statement adds its rows in the order of their keys, and changes rows only after that. An
 * existing row that another statement has locked is not added.
 */
import type { Kind } from '../../algorithms/index.ts'
import { emptyRecord } from '../records/index.ts'
import { type MakeStep, makers, type SqlStep } from './plain-steps.ts'

/** The text of a statement to be prepared, and the types of its arguments. */
export interface PlainStatement {
  readonly text: string
  /** The SQL types of the statement's arguments. */
  readonly types: string
}

/**
 * The statement of an algorithm. Its first arguments are the beginning of the records (stored texts) of the policy's keys, and the
 * algorithm's `tolerance`, `span` and parameters (see `Algorithm`). Then come three lists: the keys, the costs and the times of the calls.
 * A time is null if Postgres gives the time. All keys are different.
 * @param table the quoted name of the table
 * @param now an expression for the time in microseconds
 * @param ttlMargin for how many milliseconds a row stays after its states are no longer needed
 */
export function plainStatement(kind: Kind, table: string, now: string, ttlMargin: number): PlainStatement {
  const [make, size] = makers[kind] as readonly [MakeStep, number]
  const parameters = Array.from({ length: size }, (_, n) => `$${n + 4}`)
  const lists = { keys: `$${size + 4}`, costs: `$${size + 5}`, times: `$${size + 6}` }
  const numbers = new Array(2 + size).fill('bigint')
  return {
    text: textOf(make('$3', parameters), { table, now, ttlMargin, head: '$1', tolerance: '$2', ...lists }),
    types: ['text', ...numbers, 'text[]', 'bigint[]', 'bigint[]'].join(', '),
  }
}

/** The names and expressions that the text of a statement contains, besides the SQL of the algorithm. */
interface Names {
  readonly table: string
  readonly now: string
  readonly ttlMargin: number
  readonly head: string
  readonly tolerance: string
  readonly keys: string
  readonly costs: string
  readonly times: string
}

/** Writes the SQL of the statement. In the SQL, `offset 0` stops Postgres from computing a column again at each use of the column. */
function textOf(step: SqlStep, { table, now, ttlMargin, head, tolerance, keys, costs, times }: Names): string {
  const call = 'key, cost, found, locked, record, now'
  const numbers = step.state.slice(1)
  const rest = numbers.join(', ')
  const state = `${['at', ...numbers].join(` || ',' || `)} || '${step.ends ? ',0' : ''}]]]'`
  const advanced = step.advance.reduce(
    (from, list) => `(select ${call}, plain, at, ${list} from ${from} offset 0) as advanced`,
    '(select *, greatest(now, last) as at from numbers offset 0) as effective',
  )
  return `
with kept as materialized (
  select key, record from ${table} where key = any (${keys}) for update skip locked
), timed as materialized (
  select asked.key, cost, kept.key is not null as found, record, coalesce(time, ${now}) as now,
    kept.key is null and (select true from ${table} as other where other.key = asked.key) is true as locked,
    record is null or record = '${emptyRecord}' as fresh,
    case when starts_with(record, ${head}) then string_to_array(substr(record, length(${head}) + 1), ',') end as fields
  from unnest(${keys}, ${costs}, ${times}) as asked (key, cost, time) left join kept using (key)
), numbers as materialized (
  select ${call}, ((fresh or whole) and last - now < ${tolerance}) is true as plain, last, ${rest}
  from (
    select *, ${numbersOf(step)} from (select *, ${wholeOf(step)} as whole from timed offset 0) as looked offset 0
  ) as parsed
), decided as materialized (
  select ${call}, plain, at, ${rest}, (plain and ${step.admits}) is true as admitted
  from ${advanced}
), saved as materialized (
  select key, found, ${head} || at + reset || ',[' || ${state} as record,
    date_trunc('minute', clock_timestamp() + (at + reset - now) * interval '1 microsecond'
      + interval '${ttlMargin} milliseconds') + interval '1 minute' as expires
  from (
    select *, ${step.reset} as reset
    from (select key, found, now, at, ${step.take} from decided where admitted and not locked offset 0) as taken offset 0
  ) as full_again
), added as (
  insert into ${table} (key, record, expires) select key, record, expires from saved where not found
  order by key collate "C" on conflict do nothing returning key, record
), written as (
  update ${table} as row set record = saved.record, expires = saved.expires from saved
  where row.key = saved.key and row.key = any (${keys}) and found and (select count(*) from added) >= 0
  returning row.key, row.record
)
select key, decided.record, now, coalesce(written.record, added.record) as saved, case
    when not plain then 'other'
    when case when admitted then written.key is not null or added.key is not null else not locked end then 'done'
    else 'locked'
  end as outcome
from decided left join written using (key) left join added using (key)`
}

/** Reads the numbers of the state from `fields`: the end of the stored text of a key, `fullAt,[last,...]]]`, split at the commas. */
function numbersOf({ state, ends }: SqlStep): string {
  const numbers = state.map((name, n) => {
    const field = `fields[${n + 2}]`
    const digits = n === 0 ? `substr(${field}, 2)` : n === state.length - 1 && !ends ? `rtrim(${field}, ']')` : field
    return `case when fresh then 0 when whole then ${digits}::bigint end as ${name}`
  })
  return numbers.join(', ')
}

function wholeOf({ state, ends }: SqlStep): string {
  const size = state.length + (ends ? 2 : 1)
  const last = `fields[${size}]`
  return `cardinality(fields) = ${size} and left(fields[2], 1) = '[' and ${ends ? `${last} = '0]]]'` : `${last} like '%]]]'`}`
}
