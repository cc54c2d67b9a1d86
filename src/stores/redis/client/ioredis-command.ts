/*
 * A command of ioredis keeps its arguments and encodes them whenever it sends them. So a call whose arguments are short texts is
 * withdrawn by another text: bytes among the arguments of a command take the client some 10 us more.
 */
import { type Args, type SendScript, withBytes } from './script-call.ts'

interface Command {
  readonly args?: unknown[]
}

type EvalCommand = (script: string, numberOfKeys: number, ...keysAndArguments: Args) => Promise<unknown>

interface CommandClient {
  readonly evalsha: EvalCommand
  readonly eval: EvalCommand
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
  const send = (by: CommandClient, script: string, keys: string[], args: Args): Promise<unknown> => {
    command = undefined
    return by[name](script, keys.length, ...keys, ...args)
  }
  const sendBytes = withBytes((script, keys, args) => {
    const reply = send(keepsArguments === undefined ? seen : client, script, keys, args)
    if (args[0] !== undefined) keepsArguments ??= command?.args?.[firstKey + keys.length] === args[0]
    return reply
  })
  return (script, keys, args) => {
    if (keepsArguments !== true) return sendBytes(script, keys, args)
    const reply = send(seen, script, keys, args)
    keepsArguments = command !== undefined // false if it gathers commands since then
    const { args: sent = [] } = command ?? {}
    return {
      reply,
      withdraw: () => {
        sent[firstKey + keys.length] = '0'
      },
    }
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
