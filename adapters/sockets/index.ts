/* `headgate/sockets`: limits for the connections and the messages of WebSocket servers. */

export { type ConnectionOptions, limitConnections } from './limit-connections.ts'
export { type LimitedMessages, limitMessages } from './limit-messages.ts'
export type { MessageOptions, MessageRefusal } from './message-options.ts'
export type { Notice } from './message-transport.ts'
export { requestKey } from './request-key.ts'
export type { SocketIoLike, SocketIoMessage, SocketIoOptions } from './socket-io.ts'
export type { WebSocketLike, WebSocketMessage } from './ws.ts'
