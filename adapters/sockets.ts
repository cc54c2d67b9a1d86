/* What a server of WebSockets imports: `headgate/sockets`. */

export { type ConnectionOptions, limitConnections } from './sockets/limit-connections.ts'
export { type LimitedMessages, limitMessages } from './sockets/limit-messages.ts'
export type { MessageOptions, MessageRefusal } from './sockets/message-options.ts'
export type { Notice } from './sockets/message-transport.ts'
export { requestKey } from './sockets/request-key.ts'
export type { SocketIoLike, SocketIoMessage } from './sockets/socket-io.ts'
export type { WebSocketData, WebSocketLike, WebSocketMessage } from './sockets/ws.ts'
