import { expect, test } from 'vitest'
import { sendByIoredis } from '../../../src/stores/redis/ioredis-command.ts'

interface Command {
  readonly args: unknown[]
}

/** A client that makes a command of each call, and later gathers them instead. */
class Client {
  readonly sent: Command[] = []
  gathers = false

  sendCommand(command: Command): Promise<unknown> {
    this.sent.push(command)
    return Promise.resolve('sent')
  }

  evalsha(...args: unknown[]): Promise<unknown> {
    return this.gathers ? Promise.resolve('gathered') : this.sendCommand({ args })
  }

  eval(...args: unknown[]): Promise<unknown> {
    return this.evalsha(...args)
  }
}

test('a call that made no command withdraws no other, and later ones have bytes again', async () => {
  const client = new Client()
  const send = sendByIoredis(client, 'evalsha')
  for (let n = 0; n < 2; n++) send('sha', ['key'], ['1'])
  expect(client.sent[1]?.args).toEqual(['sha', 1, 'key', '1'])
  client.gathers = true
  const gathered = send('sha', ['key'], ['1'])
  expect(await gathered.reply).toBe('gathered')
  gathered.withdraw()
  expect(client.sent[1]?.args).toEqual(['sha', 1, 'key', '1'])

  client.gathers = false
  const call = send('sha', ['key'], ['1'])
  call.withdraw()
  expect(client.sent[2]?.args).toEqual(['sha', 1, 'key', Buffer.from('0')])
})
