import type { CanActivate, DynamicModule, ExecutionContext, HttpException, NestInterceptor } from '@nestjs/common'
import { nestFramework, RateLimitException, RateLimitGuard, RateLimitInterceptor, RateLimitModule, requestOf } from 'headgate/nest'
export const module: DynamicModule = RateLimitModule.forRoot('100/15m')
type Guarded = Parameters<RateLimitGuard["canActivate"]>[0]
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export const same: Same<Guarded, ExecutionContext> = true
export const made: Same<ReturnType<typeof RateLimitModule.forRoot>, DynamicModule> = true
export const guard = (of: RateLimitGuard): CanActivate => of
export const interceptor = (of: RateLimitInterceptor): NestInterceptor => of
export const refusal = (of: RateLimitException): HttpException => of
export const request = (context: ExecutionContext) => requestOf(context)?.url ?? nestFramework.address(context)
