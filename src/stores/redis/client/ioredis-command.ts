/*
 * ioredis keeps the arguments of a command, and encodes them each time it sends the command. So a call with short texts is
 * withdrawn by changing a text. Bytes as arguments would cost the client some 10 us more for each command.
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

/** The index of the script's first key among the arguments of the command: the script and the number of keys come before. */
const firstKey = 2

/**
 * Sends script calls. The first call has bytes as arguments. It shows whether the client makes a command for each call, and keeps
 * its arguments. (A client that gathers commands into pipelines does not.)
 */
export function sendByIoredis(client: CommandClient, name: 'evalsha' | 'eval'): SendScript {
  let command: Command | undefined
  // A method of a subclass, or a patched one, may need the client itself as `this`.
  let keepsArguments: boolean | undefined = isOverridden(client, name) ? false : undefined
  /** The client, but with a `sendCommand` that notes the command. */
  const seen: CommandClient = Object.create(client, {
    sendCommand: {
      value: (sent: Command, ...more: unknown[]) => {
        const { reject } = sent
        const reply = (client as CommandSender).sendCommand?.(sent, ...more)
        if (sent.reject !== reject) rejectMoving(sent, reject)
        command = sent // the last command counts: it may have sent others before
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
    keepsArguments = command !== undefined // false if the client now gathers commands
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
 * A Cluster client wraps a command's `reject`, to send the command again for as long as its slot is being moved. Each time it
 * waits 100 ms, which is as long as a call may take. So here that error is passed on at once.
 */
function rejectMoving(command: Command, reject: Command['reject']): void {
  const wrapped = command.reject
  command.reject = (error) => (isTryAgain(error) ? reject : wrapped)?.call(command, error)
}

/** True if a subclass or the client itself has a method of its own in place of the library's. */
function isOverridden(client: CommandClient, name: 'evalsha' | 'eval'): boolean {
  let count = 0
  for (let object: object | null = client; object !== null; object = Object.getPrototypeOf(object)) {
    if (Object.hasOwn(object, name)) count++
  }
  return count > 1
}
