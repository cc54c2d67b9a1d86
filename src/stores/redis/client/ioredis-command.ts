/*
 * ioredis stores the arguments of a command, and encodes the arguments each time it sends the command. So a call that ioredis has
 * not sent yet can be withdrawn, if its arguments are texts: this file replaces the first argument by '0', and the script then does
 * nothing. Bytes as arguments would cost ioredis about 10 us more for each command.
 */
import { isTryAgain } from './redis-error.ts'
import { type Args, type SendScript, withBytes } from './script-call.ts'

interface Command {
  readonly args?: unknown[]
  reject?(error: unknown): void
}

type EvalCommand = (script: string, numberOfKeys: number, ...keysAndArguments: Args) => Promise<unknown>

interface CommandClient {
  readonly evalsha: EvalCommand
  readonly eval: EvalCommand
}

interface CommandSender {
  sendCommand?(command: Command, ...more: unknown[]): unknown
}

/** The index of the first key in the arguments of a command: the script and the number of keys come before this key. */
const firstKey = 2

/**
 * Returns a function that sends script calls. A call that is not sent yet can be withdrawn, so that it does nothing, only if ioredis makes
 * one command for each call and stores the arguments in the command. The first call, which has bytes as arguments, shows whether ioredis
 * does so. A client that gathers commands into pipelines does not.
 */
export function sendByIoredis(client: CommandClient, name: 'evalsha' | 'eval'): SendScript {
  let command: Command | undefined
  // If a subclass or the application replaced the method, the method may need the client itself as `this`. So `seen` is not
  // used, and no call can be withdrawn.
  let keepsArguments: boolean | undefined = isOverridden(client, name) ? false : undefined
  /** An object that behaves as the client, but whose `sendCommand` also stores the command in `command`. */
  const seen: CommandClient = Object.create(client, {
    sendCommand: {
      value: (sent: Command, ...more: unknown[]) => {
        const { reject } = sent
        const reply = (client as CommandSender).sendCommand?.(sent, ...more)
        if (sent.reject !== reject) rejectMoving(sent, reject)
        command = sent // the last command of a call is the script call
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
    keepsArguments = command !== undefined // false if the client gathers commands into pipelines from now on
    const { args: sent = [] } = command ?? {}
    return {
      reply,
      withdraw: () => {
        sent[firstKey + keys.length] = '0'
      },
    }
  }
}

/**
 * A Cluster client of ioredis sends a command again, 100 ms later, while the command's slot is moved to another node. That wait is as long
 * as the usual timeout of a call. So for the error of a moving slot, the command rejects immediately and is not sent again.
 */
function rejectMoving(command: Command, reject: Command['reject']): void {
  const wrapped = command.reject
  command.reject = (error) => (isTryAgain(error) ? reject : wrapped)?.call(command, error)
}

/** True if a subclass or the application has replaced this method of the library. */
function isOverridden(client: CommandClient, name: 'evalsha' | 'eval'): boolean {
  let count = 0
  for (let object: object | null = client; object !== null; object = Object.getPrototypeOf(object)) {
    if (Object.hasOwn(object, name)) count++
  }
  return count > 1
}
