import type { MaybePromise } from '../../common/index.ts'
import type { Key } from '../../limiter/index.ts'
import type { Framework } from '../framework.ts'

/**
 * The result of a key extractor. Undefined, null or an empty text says that the request has no such key. False says that the
 * request is not limited, under any scope.
 */
export type Extracted = string | number | bigint | undefined | null | false

/** Functions over a request that are the same for every framework. */
export type RequestView<Request> = Pick<
  Framework<Request, never>,
  'address' | 'peer' | 'unaddressed' | 'trustsProxy' | 'header' | 'cookie' | 'param' | 'route'
>

/**
 * Says who a request is limited as. An extractor gets the framework's own request (with Koa, the context), a view of
 * the request that is the same on every framework, and the response. May return a promise. A request without a key is
 * limited by its address.
 *
 *     const byTenant: KeyExtractor<express.Request> = (request) => request.get('x-tenant')
 *     const byAgent: KeyExtractor = (request, view) => view.header(request, 'user-agent')
 */
export type KeyExtractor<Request = unknown, Response = unknown> = (
  request: Request,
  view: RequestView<Request>,
  // An extractor that reads no response may be called without one.
  ...response: unknown extends Response ? [response?: unknown] : [response: Response]
) => MaybePromise<Extracted>

/**
 * Finds who a request is limited as: the key, or a record with a key for each scope. False if an extractor says that the
 * request is not limited.
 */
export type FindKey = () => MaybePromise<Key | false>

/** The characters of a token (RFC 9110, 5.6.2): names of headers and cookies. */
export const tokenPattern: RegExp = /^[\w!#$%&'*+.^`|~-]+$/
