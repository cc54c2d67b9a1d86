/*
 * A command of ioredis keeps its arguments and encodes them whenever it sends them. So a call whose arguments are short texts is
 * withdrawn by another text: bytes among the arguments of a command take the client some 10 us more.
 */
import { type ScriptCall, type SendScript, withBytes } from './script-call.ts'

interface Command {
  readonly args?: unknown[]
}

interface CommandClient {
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: (string | number | Uint8Array)[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | number | Uint8Array)[]): Promise<unknown>
}

interface CommandSender {
  sendCommand?(command: Command, ...more: unknown[]): unknown
}

/** Where the arguments of the script begin among those of the command, after the script and the number of keys. */
const firstKey = 2

/**
 * Sends script calls. The first one has bytes, and shows whether the client makes a command of each that keeps its arguments.
 * (One that gathers commands into pipelines does not.)
 */
export function sendByIoredis(client: CommandClient, name: 'evalsha' | 'eval'): SendScript {
  let command: Command | undefined
  // A method of a subclass, or a patched one, may need the client itself as `this`.
  let keepsArguments: boolean | undefined = isOverridden(client, name) ? false : undefined
  /** The client, except that its commands are seen. */
  const seen: CommandClient = Object.create(client, {
    sendCommand: {
      value: (sent: Command, ...more: unknown[]) => {
        const reply = (client as CommandSender).sendCommand?.(sent, ...more)
        command = sent // at last, since that may have sent others
        return reply
      },
    },
  })
  const asBytes = withBytes((script, keys, args) => client[name](script, keys.length, ...keys, ...args))
  const tryOut = withBytes((script, keys, args) => {
    const reply = seen[name](script, keys.length, ...keys, ...args)
    keepsArguments = args[0] !== undefined && command?.args?.[firstKey + keys.length] === args[0]
    return reply
  })
  return (script, keys, args) => {
    if (keepsArguments === undefined)
      return args.length === 0 ? asBytes(script, keys, args) : tryOut(script, keys, args)
    if (!keepsArguments) return asBytes(script, keys, args)
    command = undefined
    const reply = seen[name](script, keys.length, ...keys, ...args)
    keepsArguments = command !== undefined // false if it gathers commands since then
    return new CommandCall(reply, command ?? {}, firstKey + keys.length)
  }
}

/** True if a subclass or the client itself has a method of its own in place of the library's. */
function isOverridden(client: CommandClient, name: 'evalsha' | 'eval'): boolean {
  let count = 0
  for (let object: object | null = client; object !== null; object = Object.getPrototypeOf(object)) {
    if (Object.hasOwn(object, name)) count++
  }
  return count > 1
}

class CommandCall implements ScriptCall {
  readonly reply: Promise<unknown>
  readonly #args: unknown[]
  readonly #at: number

  constructor(reply: Promise<unknown>, { args = [] }: Command, at: number) {
    this.reply = reply
    this.#args = args
    this.#at = at
  }

  withdraw(): void {
    this.#args[this.#at] = '0'
  }
}
