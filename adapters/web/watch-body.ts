/** The functions that are called while a body is sent. */
export interface BodyWatcher {
  /** Called with 1 when the server asks for a chunk, and with -1 when the server has got that chunk. */
  reads(change: 1 | -1): void
  /** Called when the body has ended: with true if it was not sent completely. */
  end(aborted: boolean): void
}

/**
 * The response with a body that says when it has ended: read to its end, cancelled by the server, as when the client
 * has left, or broken off by an error of the application. Reads no chunk before the server asks for it. A response
 * without a body has ended at once.
 */
export function watchBody(response: Response, watcher: BodyWatcher): Response {
  const { body } = response
  if (body === null || body === undefined) {
    watcher.end(false)
    return response
  }
  if (body.locked || response.bodyUsed) {
    watcher.end(true)
    return response
  }
  return new Response(watched(body.getReader(), watcher), response)
}

/** A high-water mark of 0, so that a stream of events is not read ahead. */
const lazily = { highWaterMark: 0 }

function watched(reader: ReadableStreamDefaultReader<Uint8Array>, watcher: BodyWatcher): ReadableStream<Uint8Array> {
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      watcher.reads(1)
      try {
        const { done, value } = await reader.read()
        watcher.reads(-1)
        if (!done) {
          controller.enqueue(value)
          return
        }
        controller.close()
        watcher.end(false)
      } catch (error) {
        watcher.end(true)
        controller.error(error)
      }
    },
    cancel(reason: unknown): Promise<void> {
      watcher.end(true)
      return reader.cancel(reason)
    },
  }
  return new ReadableStream(source, lazily)
}
