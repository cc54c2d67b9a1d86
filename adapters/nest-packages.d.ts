/* The names that are used of packages that only some applications install. */

declare module '@nestjs/websockets' {
  export const WsException: new (error: object | string) => Error
}

declare module '@nestjs/microservices' {
  export const RpcException: new (error: object | string) => Error
}
