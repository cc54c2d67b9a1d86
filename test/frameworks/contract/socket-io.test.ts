import { io } from 'socket.io-client'
import { expect, onTestFinished, test } from 'vitest'
import { describeMessages } from '../../support/socket-contract.ts'
import { socketIoLibrary } from './socket-io-library.ts'

describeMessages('socket.io', socketIoLibrary)

test('an acknowledgement of a dropped message gets the notice', async () => {
  const { url, close } = await socketIoLibrary.serve('1/1h')
  onTestFinished(close)
  const client = io(url, { transports: ['websocket'] })
  onTestFinished(() => void client.disconnect())
  expect(await client.emitWithAck('say', 'm1')).toBe('heard')
  expect(await client.emitWithAck('say', 'm2')).toMatchObject({ error: 'too_many_messages', policy: '1h' })
})

test('over long polling too', async () => {
  const { url, close, delivered } = await socketIoLibrary.serve('2/1h')
  onTestFinished(close)
  const client = io(url, { transports: ['polling'] })
  onTestFinished(() => void client.disconnect())
  const answers = await Promise.all(['m1', 'm2', 'm3'].map((text) => client.emitWithAck('say', text)))
  expect([delivered, answers]).toEqual([
    ['m1', 'm2'],
    ['heard', 'heard', expect.objectContaining({ error: 'too_many_messages' })],
  ])
})
