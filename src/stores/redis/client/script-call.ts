/** A script call that was passed to the client. */
export interface ScriptCall {
  readonly reply: Promise<unknown>
  /**
   * Changes the first argument so that it begins with `'0'`. If the client sends the call later or again, the script then does
   * nothing. (After a broken connection, ioredis sends commands again, although Redis may have run the commands already.)
   */
  withdraw(): void
}

export type Args = (string | Uint8Array)[]

export type SendScript = (script: string, keys: string[], args: Args) => ScriptCall

const withdrawn = 0x30 // '0'

/** Sends script calls by clients that store the passed bytes, without a copy, until they send the bytes. */
export function withBytes(send: (script: string, keys: string[], args: Args) => Promise<unknown>): SendScript {
  return (script, keys, [first, ...others]) => {
    if (first === undefined) return { reply: send(script, keys, []), withdraw: () => {} }
    const bytes = typeof first === 'string' ? Buffer.from(first) : first
    return {
      reply: send(script, keys, [bytes, ...others]),
      withdraw: () => {
        bytes[0] = withdrawn
      },
    }
  }
}
