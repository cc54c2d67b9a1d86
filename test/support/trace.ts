/* The system calls of a program and its processes, by strace: what it asked of the kernel, in which order. */
import { readFileSync } from 'node:fs'
import { until } from './ports.ts'

export interface SystemCall {
  readonly name: string
  /** The path of the file, or `socket:[...]`. */
  readonly file: string
  /** The other arguments and the result, as strace writes them. */
  readonly rest: string
}

/**
 * The command that runs a program under strace. The process that it starts is the program itself, so signals reach the program.
 * @param log the file of the trace, which is whole when the program has ended
 * @param names the system calls
 * @param options of strace
 */
export function traced(log: string, names: string, options: readonly string[] = []): string[] {
  return ['strace', '-D', '-f', '-y', '-e', `trace=${names}`, ...options, '-o', log]
}

const sends = /^(?:p?write|send)/

/**
 * The calls of a trace in their order, when all its processes have ended. A call that writes or sends stands where it began, any other
 * where it ended.
 */
export async function systemCalls(log: string): Promise<SystemCall[]> {
  const begun = new Map<string, string>()
  let lines: string[][] = []
  await until('the trace', async () => {
    lines = readFileSync(log, 'latin1')
      .split('\n')
      .map((line) => /^(\d+) +(.*)$/.exec(line) ?? [])
    const running = new Set<string | undefined>()
    for (const [, process, text] of lines) text?.startsWith('+++ ') ? running.delete(process) : running.add(process)
    running.delete(undefined)
    return running.size === 0 && lines.length > 1
  })
  return lines.flatMap(([, process = '', text = '']) => {
    const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(text) ?? []
    if (end !== undefined) {
      const start = begun.get(process)
      begun.delete(process)
      return start === undefined ? [] : parse(start + end)
    }
    const [, start] = /^(.*) <unfinished \.\.\.>$/.exec(text) ?? []
    if (start === undefined || sends.test(start)) return parse(text)
    begun.set(process, start)
    return []
  })
}

/** A line such as `pwrite64(20</tmp/a.db-wal>, "\x37...", 24, 0) = 24`. */
function parse(text: string): SystemCall[] {
  const [, name, file, rest = ''] = /^(\w+)\(\d+<([^>]*)>(.*)$/.exec(text) ?? []
  return name === undefined || file === undefined ? [] : [{ name, file, rest }]
}

export const isSync = ({ name }: Pick<SystemCall, 'name'>): boolean => name === 'fsync' || name === 'fdatasync'
