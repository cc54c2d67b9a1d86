import { METHODS } from 'node:http'
import type { Request } from 'express'
import { routeName } from '../src/http/index.ts'

/** The properties of an Express route that this file reads. The package `router`, which Express uses, has the same routes. */
export interface DeclaredRoute {
  readonly path?: unknown
  readonly methods?: Readonly<Record<string, boolean | undefined>>
}

/** The method of a request, if its route was declared for this method. Undefined if the route was declared for all methods. */
export function declaredMethod(method: string, { methods = {} }: DeclaredRoute): string | undefined {
  const declared = method === 'HEAD' && !methods.head ? 'GET' : method
  // `app.all` sets `methods` to all methods that Node knows, so a route with fewer methods was not declared by `app.all`.
  return methods[declared.toLowerCase()] && Object.keys(methods).length < METHODS.length ? declared : undefined
}

/** A layer of an Express router: a route, a router that is mounted on a path, or other middleware. */
interface Layer {
  readonly route?: object | undefined
  readonly handle?: { readonly stack?: readonly Layer[] }
  /** The mount path as the application wrote it. Missing in Express 4, and in Express 5 with `router` below 2.3. */
  readonly rawPath?: unknown
  /** Only in Express 4: the regular expression that Express makes from the path. */
  readonly regexp?: RegExp
}

/**
 * Matches a regular expression that Express 4 makes from a path without parameters. For `/admin`, Express makes
 * `/^\/admin\/?(?=\/|$)/i`.
 */
const staticPattern = /^\^((?:\\[/.]|[\w~@%&=,;'-])*?)(?:\\\/)?\\\/\?\(\?=\\\/\|\$\)$/

/** The mount path of a layer, in lower case and without a slash at its end. Undefined for a path with parameters or a pattern. */
function staticPath({ rawPath, regexp }: Layer): string | undefined {
  const path = rawPath === undefined ? regexp?.source.match(staticPattern)?.[1]?.replaceAll('\\', '') : rawPath
  if (typeof path !== 'string' || !/^[\w/.~@%&=,;'-]*$/.test(path)) return undefined
  return path.toLowerCase().replace(/\/+$/, '')
}

/**
 * The static paths on which a route can be reached through these layers.
 * @param mount the path on which the layers are mounted
 * @param around the lists of layers that contain `layers`; these lists are not searched again, because the search of a router that is
 *   mounted in itself would never end
 */
function staticMounts(layers: readonly Layer[], route: object, mount: string, around: readonly object[]): string[] {
  return layers.flatMap((layer) => {
    const inner = layer.handle?.stack
    if (layer.route === route) return mount
    const path = inner === undefined || around.includes(inner) ? undefined : staticPath(layer)
    return path === undefined
      ? []
      : staticMounts(inner as readonly Layer[], route, mount + path, [...around, inner as object])
  })
}

interface Application {
  /** The router of an Express 4 application. In Express 4, reading the property `router` throws an error. */
  readonly _router?: Layer['handle']
  readonly router?: Layer['handle']
  readonly mountpath: unknown
  readonly parent?: Application
}

/** The path on which an application is mounted in another application. Undefined if the path has parameters or a pattern. */
function mountOf({ parent, mountpath }: Application): string | undefined {
  if (parent === undefined) return ''
  const [outer, own] = [mountOf(parent), staticPath({ rawPath: mountpath })]
  return outer === undefined || own === undefined ? undefined : outer + own
}

const known = new WeakMap<object, readonly string[]>()

/** All static paths on which the route's router is mounted, in lower case. Empty if no application of Express is given. */
function mountsOf(app: Application | undefined, route: object): readonly string[] {
  let mounts = known.get(route)
  if (mounts === undefined) {
    const own = app && mountOf(app)
    const { stack = [] } = app?._router ?? app?.router ?? {}
    mounts = own === undefined ? [] : staticMounts(stack, route, own, [])
    known.set(route, mounts)
  }
  return mounts
}

/**
 * The name of the route that matched, including the path on which the route's router is mounted. `baseUrl` is a part of the
 * URL that the client sent, so `baseUrl` is used only if it is one of the static mount paths of the application. For any
 * other mount path, the name has `*`.
 */
export function expressRoute({ app, baseUrl, method, route }: Request): string {
  if (route === undefined) return routeName(undefined, undefined)
  const mount = baseUrl?.toLowerCase()
  const isStatic = !mount || mountsOf(app as unknown as Application | undefined, route).includes(mount)
  const path: string | undefined = route.path?.toString()
  return routeName(declaredMethod(method, route), isStatic ? (mount || '') + (path ?? '') : `*${path}`)
}
