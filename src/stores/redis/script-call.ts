/** A script call that the client has taken. */
export interface ScriptCall {
  readonly reply: Promise<unknown>
  /**
   * Makes the script do nothing, if the client sends the call only now, or again: its first argument becomes `'0'`, or begins
   * with it. (ioredis sends commands again whose connection broke before the reply, although Redis may have run them.)
   */
  withdraw(): void
}

type Arg = string | Uint8Array

export type SendScript = (script: string, keys: string[], args: Arg[]) => ScriptCall

const withdrawn = 0x30 // '0'

/** For clients that keep the very bytes that they were given until they send them. */
export function withBytes(send: (script: string, keys: string[], args: Arg[]) => Promise<unknown>): SendScript {
  return (script, keys, args) => {
    const [first = '', ...others] = args
    if (args.length === 0) return new BytesCall(send(script, keys, args), undefined)
    const bytes = typeof first === 'string' ? Buffer.from(first) : first
    return new BytesCall(send(script, keys, [bytes, ...others]), bytes)
  }
}

class BytesCall implements ScriptCall {
  readonly reply: Promise<unknown>
  readonly #bytes: Uint8Array | undefined

  constructor(reply: Promise<unknown>, bytes: Uint8Array | undefined) {
    this.reply = reply
    this.#bytes = bytes
  }

  withdraw(): void {
    if (this.#bytes !== undefined) this.#bytes[0] = withdrawn
  }
}
