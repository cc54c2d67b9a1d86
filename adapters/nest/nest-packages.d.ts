/*
 * The names that the adapter for Nest uses of packages that only applications of Nest install, each with what is used of it.
 * So these packages are no dependencies of this repository. The published declarations import the packages' own types,
 * and `npm run test:frameworks` compiles the sources and the declarations against those.
 */

declare module '@nestjs/common' {
  import type { Observable } from 'rxjs'

  type Class = new (...args: never[]) => object

  export interface ExecutionContext {
    getArgs(): readonly unknown[]
    getArgByIndex<T = unknown>(index: number): T
    getClass(): Class
    getHandler(): (...args: never[]) => unknown
    getType<T extends string>(): T
  }

  export interface CanActivate {
    canActivate(context: ExecutionContext): boolean | Promise<boolean> | Observable<boolean>
  }

  export interface CallHandler {
    handle(): Observable<unknown>
  }

  export interface NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>>
  }

  export interface OnModuleInit {
    onModuleInit(): unknown
  }

  export type Provider = Class | { provide: symbol; inject?: never[]; useFactory: (...injected: unknown[]) => unknown }

  export interface DynamicModule {
    module: Class
    global?: boolean
    imports?: unknown[]
    providers?: Provider[]
    exports?: (Class | symbol)[]
  }

  export class HttpException extends Error {
    constructor(response: string | Record<string, unknown>, status: number)
    getStatus(): number
  }

  export function Injectable(): ClassDecorator
  export function Module(metadata: object): ClassDecorator
  export function Inject(token: unknown): ParameterDecorator
  export function SetMetadata(key: string, value: unknown): ClassDecorator & MethodDecorator
  export function UseGuards(...guards: readonly Class[]): ClassDecorator & MethodDecorator
  export function applyDecorators(
    ...decorators: readonly (ClassDecorator & MethodDecorator)[]
  ): (target: object, key?: string | symbol, descriptor?: unknown) => void
  export function createParamDecorator(
    factory: (data: unknown, context: ExecutionContext) => unknown,
  ): () => ParameterDecorator
}

declare module '@nestjs/core' {
  type Class = new (...args: never[]) => object

  interface Found {
    readonly metatype: Class | null
    readonly isNotMetatype: boolean
  }

  /** A guard or an interceptor that is made for each request. */
  interface ScopedEnhancer {
    readonly metatype: unknown
  }

  export class ApplicationConfig {
    getGlobalGuards(): readonly object[]
    getGlobalRequestGuards(): readonly ScopedEnhancer[]
    getGlobalInterceptors(): readonly object[]
    getGlobalRequestInterceptors(): readonly ScopedEnhancer[]
  }

  export class Reflector {
    get<T>(key: string, target: Class | ((...args: never[]) => unknown)): T
  }

  export class DiscoveryModule {}

  export class DiscoveryService {
    getControllers(): readonly Found[]
    getProviders(): readonly Found[]
  }

  export class MetadataScanner {
    getAllMethodNames(prototype: object): readonly string[]
  }
}

declare module 'rxjs' {
  export interface Observable<T> {
    pipe<R>(operator: (source: Observable<T>) => Observable<R>): Observable<R>
  }

  export function tap<T>(observer: {
    subscribe?: () => void
    complete?: () => void
    error?: (error: unknown) => void
    unsubscribe?: () => void
  }): (source: Observable<T>) => Observable<T>
}

declare module '@nestjs/websockets' {
  export const WsException: new (error: object | string) => Error
}

declare module '@nestjs/microservices' {
  export const RpcException: new (error: object | string) => Error
}
