/**
 * Binds methods to their object when they are read, so that `const { settle } = reservation` works. A new object has no functions of its
 * own, so an object whose methods nobody reads costs nothing more.
 * @param prototype the prototype of the class that declares the methods
 */
export function boundMethods<Class extends object>(
  prototype: Class,
  ...names: readonly (string & keyof Class)[]
): void {
  for (const name of names) {
    const method = prototype[name] as (...args: never[]) => unknown
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: Class) {
        return method.bind(this)
      },
      set(this: Class, value: unknown) {
        Object.defineProperty(this, name, { value, configurable: true, writable: true })
      },
    })
  }
}
