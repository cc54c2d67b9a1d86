/** Called once when a body has ended: with true if it was not sent completely. */
export type BodyEnd = (aborted: boolean) => void

/**
 * The response with a body that says when it has ended: read to its end, cancelled by the server, as when the client
 * has left, or broken off by an error of the application. Reads no chunk before the server asks for it. A response
 * without a body has ended at once.
 */
export function watchBody(response: Response, end: BodyEnd): Response {
  const { body } = response
  if (body === null) {
    end(false)
    return response
  }
  if (body.locked || response.bodyUsed) {
    end(true)
    return response
  }
  return new Response(watched(body.getReader(), end), response)
}

/** A high-water mark of 0, so that a stream of events is not read ahead. */
const lazily = { highWaterMark: 0 }

function watched(reader: ReadableStreamDefaultReader<Uint8Array>, end: BodyEnd): ReadableStream<Uint8Array> {
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      try {
        const { done, value } = await reader.read()
        if (!done) {
          controller.enqueue(value)
          return
        }
        controller.close()
        end(false)
      } catch (error) {
        end(true)
        controller.error(error)
      }
    },
    cancel(reason: unknown): Promise<void> {
      end(true)
      return reader.cancel(reason)
    },
  }
  return new ReadableStream(source, lazily)
}
