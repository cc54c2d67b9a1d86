/** A script call that the client has taken. */
export interface ScriptCall {
  readonly reply: Promise<unknown>
  /**
   * Makes the script do nothing if the client has yet to send the call, or sends it again: the first argument becomes `'0'`, or
   * begins with `'0'`. (After a broken connection ioredis sends commands again, although Redis may have run them.)
   */
  withdraw(): void
}

export type Args = (string | Uint8Array)[]

export type SendScript = (script: string, keys: string[], args: Args) => ScriptCall

const withdrawn = 0x30 // '0'

/** For clients that, until they send, keep the very bytes that they got. */
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
